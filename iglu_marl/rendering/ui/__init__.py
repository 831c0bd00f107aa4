"""The user interface: widgets, the screens made of them, the window that shows screens, the line one types in."""
