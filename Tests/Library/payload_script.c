/*
 * Runs the writers of swiftmqtt-payload.h as the lines of its input say, and prints what they made, for test_payload_*.py.
 *
 *     json|cbor|senml-json:RECORDS|senml-cbor:RECORDS SIZE CALL[:ARGUMENT]…   ->   STATUS LAST LENGTH BUFFER
 *
 * STATUS is what finish returns, LAST what the call before it did, LENGTH the bytes that the payload needs, and BUFFER the
 * bytes of the whole buffer, in hexadecimal, as are the strings, and the bits of floating-point numbers, in arguments.
 * SIZE is that of the buffer, at most BUFFER_SIZE; untouched bytes of it are a5. A record of SenML is one call, whose
 * argument is FIELD=VALUE,….
 *
 * It ends with 0, or with 3 if a writer touched what is behind its buffer, or the allocator was called (count_malloc.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <swiftmqtt-payload.h>

#define BUFFER_SIZE 20000
#define UNTOUCHED 0xA5

extern unsigned long allocator_calls(void) __attribute__((weak));

static char line[1 << 20];
static uint8_t space[BUFFER_SIZE + 64], decoded[1 << 19];
static smq_json json;
static smq_cbor cbor;
static smq_senml senml;

static void give_up(const char *what) {
    fprintf(stderr, "payload_script: %s\n", what);
    exit(2);
}

/* The bytes of an argument, behind those of earlier arguments of the same call. "null" is no bytes, but a size. */
static smq_bytes bytes_of(const char *hex, size_t *used) {
    smq_bytes bytes = { decoded + *used, 0 };
    if (strcmp(hex, "null") == 0) return (smq_bytes){ NULL, 1 };
    for (; hex[0] && hex[1]; hex += 2) {
        char pair[3] = { hex[0], hex[1], 0 };
        if (*used == sizeof decoded) give_up("an argument is too long");
        decoded[(*used)++] = (uint8_t)strtoul(pair, NULL, 16);
        bytes.size++;
    }
    /* What is behind it would go on as UTF-8, for a writer that read too far. */
    memset(decoded + *used, 0x80, sizeof decoded - *used < 4 ? sizeof decoded - *used : 4);
    return bytes;
}

static double double_of(const char *hex) {
    uint64_t bits = strtoull(hex, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of(const char *hex) {
    uint32_t bits = (uint32_t)strtoul(hex, NULL, 16);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *zero_terminated(const char *hex) {
    size_t used = 0;
    smq_bytes bytes = bytes_of(hex, &used);
    if (!bytes.data) return NULL;
    if (used == sizeof decoded) give_up("an argument is too long");
    decoded[used] = 0;
    return (const char *)decoded;
}

static int is(const char *call, const char *name) { return strcmp(call, name) == 0; }

static int32_t call_json(const char *call, const char *argument) {
    size_t used = 0;
    if (is(call, "object")) return smq_json_object(&json);
    if (is(call, "array")) return smq_json_array(&json);
    if (is(call, "end")) return smq_json_end(&json);
    if (is(call, "key")) return smq_json_key(&json, zero_terminated(argument));
    if (is(call, "string")) return smq_json_string(&json, bytes_of(argument, &used));
    if (is(call, "base64url")) return smq_json_base64url(&json, bytes_of(argument, &used));
    if (is(call, "int")) return smq_json_int(&json, strtoll(argument, NULL, 10));
    if (is(call, "uint")) return smq_json_uint(&json, strtoull(argument, NULL, 10));
    if (is(call, "double")) return smq_json_double(&json, double_of(argument));
    if (is(call, "float")) return smq_json_float(&json, float_of(argument));
    if (is(call, "bool")) return smq_json_bool(&json, atoi(argument));
    if (is(call, "null")) return smq_json_null(&json);
    if (is(call, "raw")) return smq_json_raw(&json, bytes_of(argument, &used));
    give_up(call);
    return 0;
}

static int32_t call_cbor(const char *call, const char *argument) {
    size_t used = 0;
    if (is(call, "array")) return smq_cbor_array(&cbor, (uint32_t)strtoul(argument, NULL, 10));
    if (is(call, "map")) return smq_cbor_map(&cbor, (uint32_t)strtoul(argument, NULL, 10));
    if (is(call, "end")) return smq_cbor_end(&cbor);
    if (is(call, "tag")) return smq_cbor_tag(&cbor, strtoull(argument, NULL, 10));
    if (is(call, "int")) return smq_cbor_int(&cbor, strtoll(argument, NULL, 10));
    if (is(call, "uint")) return smq_cbor_uint(&cbor, strtoull(argument, NULL, 10));
    if (is(call, "negative")) return smq_cbor_negative(&cbor, strtoull(argument, NULL, 10));
    if (is(call, "text")) return smq_cbor_text(&cbor, bytes_of(argument, &used));
    if (is(call, "bytes")) return smq_cbor_bytes(&cbor, bytes_of(argument, &used));
    if (is(call, "double")) return smq_cbor_double(&cbor, double_of(argument));
    if (is(call, "float")) return smq_cbor_float(&cbor, float_of(argument));
    if (is(call, "bool")) return smq_cbor_bool(&cbor, atoi(argument));
    if (is(call, "null")) return smq_cbor_null(&cbor);
    if (is(call, "undefined")) return smq_cbor_undefined(&cbor);
    if (is(call, "simple")) return smq_cbor_simple(&cbor, (uint32_t)strtoul(argument, NULL, 10));
    give_up(call);
    return 0;
}

/* Sets the field of the record that is called so in JSON. */
static void set_field(smq_senml_record *record, const char *name, const char *value, size_t *used) {
    const struct {
        const char *name;
        uint32_t flag;
        smq_bytes *bytes;
        double *number;
        uint32_t *whole;
    } fields[] = {
        { "bn", SMQ_SENML_BASE_NAME, &record->base_name, NULL, NULL },
        { "bt", SMQ_SENML_BASE_TIME, NULL, &record->base_time, NULL },
        { "bu", SMQ_SENML_BASE_UNIT, &record->base_unit, NULL, NULL },
        { "bv", SMQ_SENML_BASE_VALUE, NULL, &record->base_value, NULL },
        { "bs", SMQ_SENML_BASE_SUM, NULL, &record->base_sum, NULL },
        { "bver", SMQ_SENML_BASE_VERSION, NULL, NULL, &record->base_version },
        { "n", SMQ_SENML_NAME, &record->name, NULL, NULL },
        { "u", SMQ_SENML_UNIT, &record->unit, NULL, NULL },
        { "v", SMQ_SENML_VALUE, NULL, &record->value, NULL },
        { "vs", SMQ_SENML_STRING, &record->string, NULL, NULL },
        { "vb", SMQ_SENML_BOOL, NULL, NULL, &record->boolean },
        { "vd", SMQ_SENML_DATA, &record->data, NULL, NULL },
        { "s", SMQ_SENML_SUM, NULL, &record->sum, NULL },
        { "t", SMQ_SENML_TIME, NULL, &record->time, NULL },
        { "ut", SMQ_SENML_UPDATE_TIME, NULL, &record->update_time, NULL },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!is(name, fields[i].name)) continue;
        record->fields |= fields[i].flag;
        if (fields[i].bytes) *fields[i].bytes = bytes_of(value, used);
        if (fields[i].number) *fields[i].number = double_of(value);
        if (fields[i].whole) *fields[i].whole = (uint32_t)strtoul(value, NULL, 10);
        return;
    }
    if (is(name, "flag")) record->fields |= (uint32_t)strtoul(value, NULL, 10);
    if (is(name, "size")) record->size = (uint32_t)strtoul(value, NULL, 10);
}

static int32_t call_senml(const char *call, char *argument) {
    smq_senml_record record = SMQ_SENML_RECORD_INIT;
    size_t used = 0;
    char *rest = NULL;
    if (is(call, "nothing")) return smq_senml_add(&senml, NULL);
    for (char *field = strtok_r(argument, ",", &rest); field; field = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(field, '=');
        if (!value) give_up(field);
        *value = 0;
        set_field(&record, field, value + 1, &used);
    }
    return smq_senml_add(&senml, &record);
}

static void run(char *text) {
    char *rest = NULL, *format = strtok_r(text, " \n", &rest), *number = strtok_r(NULL, " \n", &rest);
    if (!number) give_up("a line without a size");
    size_t size = strtoul(number, NULL, 10);
    if (size > BUFFER_SIZE) give_up("the size is too large");
    int is_json = is(format, "json"), is_cbor = is(format, "cbor");
    smq_bytes payload = { NULL, 0 };
    /* What is written behind it is seen by the check below or, if it is a block of its own, by the address sanitizer. */
    uint8_t *buffer = size ? space : NULL;
#ifdef ON_HEAP
    buffer = size ? malloc(size) : NULL;
#endif
    memset(space, UNTOUCHED, sizeof space);
    if (size) memset(buffer, UNTOUCHED, size);
    unsigned long before = allocator_calls ? allocator_calls() : 0;
    int32_t last = is_json   ? smq_json_init(&json, buffer, size)
                   : is_cbor ? smq_cbor_init(&cbor, buffer, size)
                             : smq_senml_init(&senml, strncmp(format, "senml-cbor", 10) == 0, buffer, size,
                                              (uint32_t)strtoul(strchr(format, ':') + 1, NULL, 10));
    for (char *call = strtok_r(NULL, " \n", &rest); call; call = strtok_r(NULL, " \n", &rest)) {
        char *argument = strchr(call, ':');
        if (argument) *argument++ = 0;
        char none[1] = "";
        if (!argument) argument = none;
        last = is_json ? call_json(call, argument) : is_cbor ? call_cbor(call, argument) : call_senml(call, argument);
    }
    int32_t status = is_json   ? smq_json_finish(&json, &payload)
                     : is_cbor ? smq_cbor_finish(&cbor, &payload)
                               : smq_senml_finish(&senml, &payload);
    size_t length = is_json ? json.length : is_cbor ? cbor.length : smq_senml_length(&senml);
    if (allocator_calls && allocator_calls() != before) exit(3);
    if (status == SMQ_OK && (payload.data != buffer || payload.size != length)) exit(3);
    for (size_t i = buffer == space ? size : 0; i < sizeof space; i++)
        if (space[i] != UNTOUCHED) exit(3);
    printf("%" PRId32 " %" PRId32 " %zu ", status, last, length);
    for (size_t i = 0; i < size; i++) printf("%02x", buffer[i]);
    putchar('\n');
    if (buffer != space) free(buffer);
}

int main(void) {
    static char out[1 << 16], in[1 << 16];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    setvbuf(stdin, in, _IOFBF, sizeof in);
    while (fgets(line, sizeof line, stdin)) run(line);
    return 0;
}
