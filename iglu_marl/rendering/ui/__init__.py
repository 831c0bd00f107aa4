"""The user interface: widgets, screens made of them, the window that shows screens, and the text line."""
