include $(sort $(wildcard $(BR2_EXTERNAL_SWIFTMQTT_PATH)/package/*/*.mk))
