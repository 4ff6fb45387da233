"""From boards to Markdown, LaTeX, CSV, the page and figures."""
