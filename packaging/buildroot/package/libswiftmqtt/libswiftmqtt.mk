################################################################################
#
# libswiftmqtt
#
################################################################################

LIBSWIFTMQTT_VERSION = 1.0.0
# The sources have no public address: what is built is the tree in which this
# package lies, that of a tarball of `make dist`. LIBSWIFTMQTT_OVERRIDE_SRCDIR
# names another.
LIBSWIFTMQTT_SITE = $(realpath $(BR2_EXTERNAL_SWIFTMQTT_PATH)/../..)
LIBSWIFTMQTT_SITE_METHOD = local
LIBSWIFTMQTT_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = \
	--exclude=/build --exclude=/.build --exclude=__pycache__
LIBSWIFTMQTT_LICENSE = MIT
LIBSWIFTMQTT_LICENSE_FILES = LICENSE
LIBSWIFTMQTT_INSTALL_STAGING = YES
LIBSWIFTMQTT_SUPPORTS_IN_SOURCE_BUILD = NO

# Such a tarball has what the Swift compiler makes, as assembly. Other sources
# need the compiler itself.
LIBSWIFTMQTT_SOURCES = $(or $(LIBSWIFTMQTT_OVERRIDE_SRCDIR),$(LIBSWIFTMQTT_SITE))
ifeq ($(wildcard $(LIBSWIFTMQTT_SOURCES)/assembly),)
LIBSWIFTMQTT_SWIFTC = $(call qstrip,$(BR2_PACKAGE_LIBSWIFTMQTT_SWIFTC))
LIBSWIFTMQTT_SWIFTC_PATH = $(shell which '$(LIBSWIFTMQTT_SWIFTC)' 2>/dev/null)
LIBSWIFTMQTT_CONF_OPTS = -DSWIFTMQTT_SWIFTC=$(LIBSWIFTMQTT_SWIFTC_PATH)
# Said at once, not after the toolchain is built.
ifeq ($(BR2_PACKAGE_LIBSWIFTMQTT)$(BR_BUILDING),yy)
ifeq ($(LIBSWIFTMQTT_SWIFTC_PATH),)
$(error libswiftmqtt: there is no '$(LIBSWIFTMQTT_SWIFTC)' on this machine: \
	BR2_PACKAGE_LIBSWIFTMQTT_SWIFTC has to name the Swift compiler, 6.3 or newer)
endif
endif
endif

LIBSWIFTMQTT_CONF_OPTS += \
	-DSWIFTMQTT_EXAMPLES=OFF \
	-DSWIFTMQTT_WERROR=OFF \
	-DSWIFTMQTT_TOOLS=$(if $(BR2_PACKAGE_LIBSWIFTMQTT_TOOLS),ON,OFF) \
	-DSWIFTMQTT_STOMP=$(if $(BR2_PACKAGE_LIBSWIFTMQTT_STOMP),ON,OFF) \
	-DSWIFTMQTT_MOSQUITTO=$(if $(BR2_PACKAGE_LIBSWIFTMQTT_MOSQUITTO),ON,OFF)

# Said either way: otherwise it would depend on what was built before.
ifeq ($(BR2_PACKAGE_LIBSWIFTMQTT_TLS),y)
LIBSWIFTMQTT_CONF_OPTS += -DSWIFTMQTT_TLS=ON
LIBSWIFTMQTT_DEPENDENCIES += openssl
else
LIBSWIFTMQTT_CONF_OPTS += -DSWIFTMQTT_TLS=OFF
endif

ifeq ($(BR2_PACKAGE_LIBSWIFTMQTT_PYTHON),y)
LIBSWIFTMQTT_DEPENDENCIES += python3
define LIBSWIFTMQTT_INSTALL_PYTHON
	mkdir -p $(TARGET_DIR)/usr/lib/python$(PYTHON3_VERSION_MAJOR)/site-packages
	cp -r $(@D)/python/swiftmqtt $(TARGET_DIR)/usr/lib/python$(PYTHON3_VERSION_MAJOR)/site-packages/
	$(if $(BR2_PACKAGE_LIBSWIFTMQTT_STOMP),,\
		rm -r $(TARGET_DIR)/usr/lib/python$(PYTHON3_VERSION_MAJOR)/site-packages/swiftmqtt/stomp)
endef
LIBSWIFTMQTT_POST_INSTALL_TARGET_HOOKS += LIBSWIFTMQTT_INSTALL_PYTHON
endif

$(eval $(cmake-package))
