"""OpenGL: the builder's pictures drawn off screen, with moderngl. Importing it opens nothing.

`OpenGLRenderer` is the renderer of `renderer="opengl"`, and `AutoRenderer` that of `renderer="auto"` where a GPU is.
"""
