"""Every result as a picture in a line, on axes of one's own or on new ones, labelled by the declarations."""
