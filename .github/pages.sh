# Writes what GitHub Pages show into the folder pages/: the board, the docs as a site, and a first page that leads to both.
# A broken link in the docs stops it (mkdocs.yml: strict).
set -euo pipefail
rm -rf pages
mkdir pages
# The board's page links to its neighbours, so they keep their places.
cp -r leaderboards/. pages
rm -rf pages/records pages/suites
NO_MKDOCS_2_WARNING=1 "${MKDOCS:-.venv/bin/mkdocs}" build --strict --site-dir "$PWD/pages/docs"
cat > pages/index.html << 'HTML'
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hideseek: who hides, who seeks, who wins</title>
<style>
  :root { color-scheme: light dark; }
  a { color: inherit; }
  body { max-width: 36rem; margin: 15vh auto; padding: 0 1rem; font: 18px/1.5 system-ui, sans-serif; }
</style>
</head>
<body>
<main>
<h1>hideseek</h1>
<p>Defenses that hide text for federated learning, and attacks that read it all the same.</p>
<ul>
<li><a href="site/index.html">The board</a>: which defense can be trusted, and which has fallen</li>
<li><a href="docs/index.html">The docs</a>: start here, tutorials, reference</li>
</ul>
</main>
</body>
</html>
HTML
