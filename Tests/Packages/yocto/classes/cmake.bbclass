# Stands in for OpenEmbedded's class. What it finds is as narrow as there: programs only where the build puts its own.
DEPENDS:prepend = "cmake-native ninja-native "
B = "${WORKDIR}/build"
EXTRA_OECMAKE:append = " ${PACKAGECONFIG_CONFARGS}"
OECMAKE_C_FLAGS ?= "-O2 -pipe -g -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wformat -Werror=format-security \
    -ffile-prefix-map=${S}=/usr/src/debug/${BP} -ffile-prefix-map=${B}=/usr/src/debug/${BP} \
    -ffile-prefix-map=${WORKDIR}/recipe-sysroot="
OECMAKE_C_LINK_FLAGS ?= "-Wl,-O1 -Wl,--hash-style=gnu -Wl,--as-needed -Wl,-z,relro,-z,now"
STAGING_DIR_NATIVE = "${WORKDIR}/recipe-sysroot-native"

cmake_do_configure() {
    mkdir -p ${STAGING_DIR_NATIVE}/usr/bin
    for tool in gcc ar ranlib nm objcopy objdump strip ld; do
        ln -sf "$(command -v ${HOST_PREFIX}$tool)" ${STAGING_DIR_NATIVE}/usr/bin/${HOST_PREFIX}$tool
    done
    cat > ${WORKDIR}/toolchain.cmake <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${HOST_ARCH})
set(CMAKE_C_COMPILER ${HOST_PREFIX}gcc)
set(CMAKE_C_FLAGS "${OECMAKE_C_FLAGS}" CACHE STRING "")
set(CMAKE_C_FLAGS_RELEASE "-DNDEBUG" CACHE STRING "")
set(CMAKE_C_LINK_FLAGS "${OECMAKE_C_LINK_FLAGS}" CACHE STRING "")
set(CMAKE_FIND_ROOT_PATH ${WORKDIR}/recipe-sysroot ${STAGING_DIR_NATIVE})
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_PROGRAM_PATH "/")
END
    export PATH="${STAGING_DIR_NATIVE}/usr/bin:$PATH"
    cmake -G Ninja -DCMAKE_MAKE_PROGRAM="$(command -v ninja)" -S ${S} -B ${B} \
        -DCMAKE_TOOLCHAIN_FILE=${WORKDIR}/toolchain.cmake -DCMAKE_INSTALL_PREFIX=${prefix} \
        -DCMAKE_INSTALL_BINDIR=bin -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_INCLUDEDIR=include \
        -DFETCHCONTENT_FULLY_DISCONNECTED=ON ${EXTRA_OECMAKE} -Wno-dev
}

cmake_do_compile() {
    cmake --build ${B} --target all
}

cmake_do_install() {
    DESTDIR='${D}' cmake --build ${B} --target install
}

addtask configure
addtask compile after do_configure
addtask install after do_compile

EXPORT_FUNCTIONS do_configure do_compile do_install
