"""What readers take away from a built site: notebooks, one document, a copy without a server."""
