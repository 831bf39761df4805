# Stands in for OpenEmbedded's class: the sources are where they are, and nothing is fetched.
python () {
    source = d.getVar('EXTERNALSRC')
    if source:
        d.setVar('S', source)
        d.setVar('B', '${WORKDIR}/${BP}')
        d.setVar('SRC_URI', '')
}
