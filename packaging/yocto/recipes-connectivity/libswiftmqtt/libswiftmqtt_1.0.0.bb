SUMMARY = "MQTT client library that never allocates"
SUMMARY:swiftmqtt-tools = "MQTT from the command line"
SUMMARY:swiftstomp-tools = "STOMP from the command line"
SUMMARY:python3-swiftmqtt = "MQTT client that never allocates, for Python"
SUMMARY:${PN}-tls = "TLS for libswiftmqtt, on OpenSSL"
SUMMARY:libswiftstomp = "STOMP client library that never allocates"
SUMMARY:${PN}-mosquitto = "Programs for libmosquitto on libswiftmqtt's core"
DESCRIPTION = "An MQTT client for C daemons on gateways: 3.1, 3.1.1 and 5.0. It works in one block of memory \
               that the program provides, needs libc alone, never blocks, and reconnects by itself."
SECTION = "libs"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=00f6bd354f4d7f4a2092d9ae5d040b07"
CVE_PRODUCT = "libswiftmqtt"

# What is built is the tree in which this layer lies, that of a tarball of `make dist`, unless SWIFTMQTT_SRC_URI says where
# an archive or a repository of yours is; what belongs to that, SRCREV or checksums, is set with it.
SWIFTMQTT_SRC_URI ?= ""
SRC_URI = "${SWIFTMQTT_SRC_URI}"

inherit cmake python3-dir externalsrc

SWIFTMQTT_TREE = "${@os.path.realpath(os.path.dirname(d.getVar('FILE')) + '/../../../..')}"
EXTERNALSRC ?= "${@'' if d.getVar('SWIFTMQTT_SRC_URI') else d.getVar('SWIFTMQTT_TREE')}"
# The tree stays as it is.
EXTERNALSRC_SYMLINKS = ""

# Such a tarball has what the Swift compiler makes, as assembly. Other sources need the compiler itself, 6.3 or newer, on
# the build host: no layer has one.
SWIFTMQTT_SWIFTC ?= ""

# The tune of one of these may still be for an older processor: CMake looks at its flags, and refuses.
COMPATIBLE_HOST = "(x86_64|aarch64|arm|riscv64).*-linux"

PACKAGECONFIG ??= "tools python tls stomp"
PACKAGECONFIG[tools] = "-DSWIFTMQTT_TOOLS=ON,-DSWIFTMQTT_TOOLS=OFF"
PACKAGECONFIG[tls] = "-DSWIFTMQTT_TLS=ON,-DSWIFTMQTT_TLS=OFF,openssl"
PACKAGECONFIG[stomp] = "-DSWIFTMQTT_STOMP=ON,-DSWIFTMQTT_STOMP=OFF"
PACKAGECONFIG[mosquitto] = "-DSWIFTMQTT_MOSQUITTO=ON,-DSWIFTMQTT_MOSQUITTO=OFF"
PACKAGECONFIG[python] = ""

EXTRA_OECMAKE = "-DSWIFTMQTT_EXAMPLES=OFF -DSWIFTMQTT_WERROR=OFF"
EXTRA_OECMAKE += "${@'-DSWIFTMQTT_SWIFTC=' + d.getVar('SWIFTMQTT_SWIFTC') if d.getVar('SWIFTMQTT_SWIFTC') else ''}"

do_install:append() {
    if ${@bb.utils.contains('PACKAGECONFIG', 'python', 'true', 'false', d)}; then
        (cd ${S}/python && find swiftmqtt -name '*.py' -o -name py.typed) | while read -r file; do
            install -D -m 0644 "${S}/python/$file" "${D}${PYTHON_SITEPACKAGES_DIR}/$file"
        done
        # Python's STOMP needs libswiftstomp.
        if ! ${@bb.utils.contains('PACKAGECONFIG', 'stomp', 'true', 'false', d)}; then
            rm -r "${D}${PYTHON_SITEPACKAGES_DIR}/swiftmqtt/stomp"
        fi
    fi
}

PACKAGES =+ "swiftmqtt-tools swiftstomp-tools python3-swiftmqtt ${PN}-tls libswiftstomp ${PN}-mosquitto"
FILES:swiftmqtt-tools += "${bindir}/smq ${datadir}/bash-completion/completions/smq"
FILES:swiftstomp-tools += "${bindir}/sst ${datadir}/bash-completion/completions/sst"
FILES:python3-swiftmqtt += "${PYTHON_SITEPACKAGES_DIR}/swiftmqtt"
FILES:${PN}-tls += "${libdir}/libswiftmqtt-tls.so.*"
FILES:libswiftstomp += "${libdir}/libswiftstomp.so.*"
FILES:${PN}-mosquitto += "${libdir}/swiftmqtt/libmosquitto.so.1"

RDEPENDS:python3-swiftmqtt = "\
    ${PN} \
    python3-asyncio \
    python3-core \
    python3-ctypes \
    python3-datetime \
    python3-json \
    python3-logging \
    python3-numbers \
    python3-plistlib \
    python3-threading \
"

# smq, sst and Python load it when TLS is asked for. The CAs of the system are in a package of their own.
TLS_OF_PROGRAMS = "${@bb.utils.contains('PACKAGECONFIG', 'tls', '${PN}-tls', '', d)}"
RRECOMMENDS:swiftmqtt-tools = "${TLS_OF_PROGRAMS}"
RRECOMMENDS:swiftstomp-tools = "${TLS_OF_PROGRAMS}"
RRECOMMENDS:python3-swiftmqtt = "${TLS_OF_PROGRAMS}"
RRECOMMENDS:${PN}-tls = "ca-certificates"
RSUGGESTS:python3-swiftmqtt = "libswiftstomp"

# A program for libmosquitto uses the drop-in when its directory is in LD_LIBRARY_PATH: it is nobody's dependency.
PRIVATE_LIBS:${PN}-mosquitto = "libmosquitto.so.1"

# Said when the recipe is read, not an hour later.
python () {
    compiler = d.getVar('SWIFTMQTT_SWIFTC')
    source = d.getVar('EXTERNALSRC')
    if source and not os.path.exists(os.path.join(source, 'include', 'swiftmqtt.h')):
        raise bb.parse.SkipRecipe("'%s' has no sources of libswiftmqtt: set SWIFTMQTT_SRC_URI or EXTERNALSRC" % source)
    if source and not compiler and not os.path.exists(os.path.join(source, 'assembly')):
        raise bb.parse.SkipRecipe("'%s' is not of a tarball of make dist: take one, or set SWIFTMQTT_SWIFTC to the path of "
                                  "swiftc on the build host, Swift 6.3 or newer" % source)
    if compiler and (not os.path.isabs(compiler) or not os.access(compiler, os.X_OK)):
        raise bb.parse.SkipRecipe("SWIFTMQTT_SWIFTC is '%s', which is not the path of a program" % compiler)
}
