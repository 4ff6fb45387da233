"""`bench report`: what defenses leave of somebody's own data, and what they cost, on one page for who has to decide."""
