/*
 * The part of libmosquitto's binary interface that consists of types and numbers, as Debian 12's library
 * (2.0.11) has it. Tests/Compat compares sizes, offsets and values with those of libmosquitto-dev.
 */
#ifndef SWIFTMQTT_MOSQUITTO_ABI_H
#define SWIFTMQTT_MOSQUITTO_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What functions return, and what on_disconnect tells. */
#define MOSQ_ERR_CONN_PENDING (-1)
#define MOSQ_ERR_SUCCESS 0
#define MOSQ_ERR_NOMEM 1
#define MOSQ_ERR_PROTOCOL 2
#define MOSQ_ERR_INVAL 3
#define MOSQ_ERR_NO_CONN 4
#define MOSQ_ERR_CONN_REFUSED 5
#define MOSQ_ERR_NOT_FOUND 6
#define MOSQ_ERR_CONN_LOST 7
#define MOSQ_ERR_TLS 8
#define MOSQ_ERR_PAYLOAD_SIZE 9
#define MOSQ_ERR_NOT_SUPPORTED 10
#define MOSQ_ERR_AUTH 11
#define MOSQ_ERR_ACL_DENIED 12
#define MOSQ_ERR_UNKNOWN 13
#define MOSQ_ERR_ERRNO 14
#define MOSQ_ERR_EAI 15
#define MOSQ_ERR_PROXY 16
#define MOSQ_ERR_MALFORMED_UTF8 18
#define MOSQ_ERR_KEEPALIVE 19
#define MOSQ_ERR_LOOKUP 20
#define MOSQ_ERR_MALFORMED_PACKET 21
#define MOSQ_ERR_DUPLICATE_PROPERTY 22
#define MOSQ_ERR_QOS_NOT_SUPPORTED 24
#define MOSQ_ERR_OVERSIZE_PACKET 25
#define MOSQ_ERR_TIMEOUT 27
#define MOSQ_ERR_RETAIN_NOT_SUPPORTED 28
#define MOSQ_ERR_TOPIC_ALIAS_INVALID 29
#define MOSQ_ERR_ADMINISTRATIVE_ACTION 30

/* Kinds of log lines. Bits. */
#define MOSQ_LOG_INFO 1
#define MOSQ_LOG_NOTICE 2
#define MOSQ_LOG_WARNING 4
#define MOSQ_LOG_ERR 8
#define MOSQ_LOG_DEBUG 16

/* mosquitto_int_option() and its kind. */
#define MOSQ_OPT_PROTOCOL_VERSION 1
#define MOSQ_OPT_SSL_CTX 2
#define MOSQ_OPT_SSL_CTX_WITH_DEFAULTS 3
#define MOSQ_OPT_RECEIVE_MAXIMUM 4
#define MOSQ_OPT_SEND_MAXIMUM 5
#define MOSQ_OPT_TLS_KEYFORM 6
#define MOSQ_OPT_TLS_ENGINE 7
#define MOSQ_OPT_TLS_ENGINE_KPASS_SHA1 8
#define MOSQ_OPT_TLS_OCSP_REQUIRED 9
#define MOSQ_OPT_TLS_ALPN 10
#define MOSQ_OPT_TCP_NODELAY 11
#define MOSQ_OPT_BIND_ADDRESS 12
#define MOSQ_OPT_TLS_USE_OS_CERTS 13

#define MQTT_PROTOCOL_V31 3
#define MQTT_PROTOCOL_V311 4
#define MQTT_PROTOCOL_V5 5

/* The types of properties, as mosquitto_string_to_property_info() tells them. */
#define MQTT_PROP_TYPE_BYTE 1
#define MQTT_PROP_TYPE_INT16 2
#define MQTT_PROP_TYPE_INT32 3
#define MQTT_PROP_TYPE_VARINT 4
#define MQTT_PROP_TYPE_BINARY 5
#define MQTT_PROP_TYPE_STRING 6
#define MQTT_PROP_TYPE_STRING_PAIR 7

/* Programs see nothing of it but its address. */
struct mosquitto;
typedef struct mqtt5__property mosquitto_property;

/* topic and payload end with a zero that is not counted. */
struct mosquitto_message {
    int mid;
    char *topic;
    void *payload;
    int payloadlen;
    int qos;
    bool retain;
};

struct libmosquitto_will {
    char *topic;
    void *payload;
    int payloadlen;
    int qos;
    bool retain;
};

struct libmosquitto_tls {
    char *cafile;
    char *capath;
    char *certfile;
    char *keyfile;
    char *ciphers;
    char *tls_version;
    int (*pw_callback)(char *buffer, int size, int rwflag, void *user);
    int cert_reqs;
};

typedef void (*mosq_on_connect)(struct mosquitto *, void *, int);
typedef void (*mosq_on_connect_with_flags)(struct mosquitto *, void *, int, int);
typedef void (*mosq_on_connect_v5)(struct mosquitto *, void *, int, int, const mosquitto_property *);
typedef void (*mosq_on_disconnect)(struct mosquitto *, void *, int);
typedef void (*mosq_on_disconnect_v5)(struct mosquitto *, void *, int, const mosquitto_property *);
typedef void (*mosq_on_publish)(struct mosquitto *, void *, int);
typedef void (*mosq_on_publish_v5)(struct mosquitto *, void *, int, int, const mosquitto_property *);
typedef void (*mosq_on_message)(struct mosquitto *, void *, const struct mosquitto_message *);
typedef void (*mosq_on_message_v5)(struct mosquitto *, void *, const struct mosquitto_message *,
                                   const mosquitto_property *);
typedef void (*mosq_on_subscribe)(struct mosquitto *, void *, int, int, const int *);
typedef void (*mosq_on_subscribe_v5)(struct mosquitto *, void *, int, int, const int *, const mosquitto_property *);
typedef void (*mosq_on_unsubscribe)(struct mosquitto *, void *, int);
typedef void (*mosq_on_unsubscribe_v5)(struct mosquitto *, void *, int, const mosquitto_property *);
typedef void (*mosq_on_log)(struct mosquitto *, void *, int, const char *);
typedef int (*mosq_each_message)(struct mosquitto *, void *, const struct mosquitto_message *);

#endif
