# Stands in for OpenEmbedded's class.
PYTHON_SITEPACKAGES_DIR = "${libdir}/python3.12/site-packages"
