"""The web application's routes: thin, they convert between HTTP or a socket and the sessions."""
