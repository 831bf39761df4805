# Stands in for OpenEmbedded's class: it makes the options of CMake from PACKAGECONFIG.
python () {
    known = d.getVarFlags('PACKAGECONFIG') or {}
    chosen = (d.getVar('PACKAGECONFIG') or '').split()
    for name in chosen:
        if name not in known:
            bb.fatal("PACKAGECONFIG has no '%s'" % name)
    depends = [flags.split(',')[2] for name, flags in known.items() if name in chosen and flags.count(',') >= 2]
    d.appendVar('DEPENDS', ' ' + ' '.join(depends))
    fields = {name: (flags.split(',') + [''])[:2] for name, flags in known.items() if name not in ('doc', 'defaultval')}
    d.setVar('PACKAGECONFIG_CONFARGS', ' '.join(f[0 if name in chosen else 1] for name, f in sorted(fields.items())))
}
