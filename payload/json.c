/* The writer of JSON (RFC 8259). Every call first says whether its token may stand here, and then writes all of it. */
#include "parts.h"

enum expects {
    FIRST, /* a value, or in an object a key, or the end, without a comma */
    NEXT,  /* the same, with a comma */
    VALUE, /* the value of a key */
    NOTHING
};

static int is_in_object(const smq_json *json) { return json->depth > 0 && json->objects >> (json->depth - 1) & 1; }

static int32_t fail(smq_json *json, int32_t error) { return json->status = error; }

static int32_t state_of(const smq_json *json) { return json->length > json->size ? SMQ_ERR_FULL : SMQ_OK; }

/* Whether a value may stand here. Changes nothing but the status. */
static int32_t check_value(smq_json *json) {
    if (!json) return SMQ_ERR_NULL;
    if (json->status != SMQ_OK) return json->status;
    int allowed = is_in_object(json) ? json->expects == VALUE : json->expects <= NEXT;
    return allowed ? SMQ_OK : fail(json, SMQ_ERR_STATE);
}

static int32_t check_bytes(smq_json *json, smq_bytes value) {
    int32_t status = check_value(json);
    if (status != SMQ_OK) return status;
    return value.data || value.size == 0 ? SMQ_OK : fail(json, SMQ_ERR_NULL);
}

/* Where so many bytes of a token go, behind the comma that may belong to it; NULL if it does not fit. */
static uint8_t *claim(smq_json *json, size_t bytes) {
    size_t comma = json->expects == NEXT;
    uint8_t *place =
        smq_payload_claim(json->buffer, json->size, &json->length, bytes > SIZE_MAX - comma ? bytes : bytes + comma);
    if (place && comma) *place++ = ',';
    return place;
}

static int32_t put_value(smq_json *json, const void *text, size_t size) {
    uint8_t *place = claim(json, size);
    if (place) memcpy(place, text, size);
    json->expects = json->depth ? NEXT : NOTHING;
    return state_of(json);
}

/* The letter of a two-character escape; 0 for another character. */
static uint8_t short_escape(uint8_t byte) {
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof escapes; i += 2)
        if (byte == (uint8_t)escapes[i]) return (uint8_t)escapes[i + 1];
    return 0;
}

/* Bytes of a string with its quotation marks; SIZE_MAX if they are beyond all buffers. */
static size_t quoted_size(const uint8_t *bytes, size_t size, size_t more) {
    size_t quoted = 2 + more;
    for (size_t i = 0; i < size; i++) {
        size_t escaped = short_escape(bytes[i]) ? 2 : bytes[i] < 0x20 ? 6 : 1;
        if (quoted > SIZE_MAX - escaped) return SIZE_MAX;
        quoted += escaped;
    }
    return quoted;
}

static uint8_t *put_quoted(uint8_t *place, const uint8_t *bytes, size_t size) {
    static const char hex[] = "0123456789abcdef";
    *place++ = '"';
    for (size_t i = 0; i < size; i++) {
        uint8_t letter = short_escape(bytes[i]);
        if (letter) {
            *place++ = '\\';
            *place++ = letter;
        } else if (bytes[i] < 0x20) {
            memcpy(place, "\\u00", 4);
            place[4] = (uint8_t)hex[bytes[i] >> 4];
            place[5] = (uint8_t)hex[bytes[i] & 15];
            place += 6;
        } else {
            *place++ = bytes[i];
        }
    }
    *place++ = '"';
    return place;
}

int32_t smq_json_init(smq_json *json, void *buffer, size_t size) {
    if (!json) return SMQ_ERR_NULL;
    memset(json, 0, sizeof *json);
    if (!buffer && size > 0) return fail(json, SMQ_ERR_NULL);
    json->buffer = buffer;
    json->size = size;
    return SMQ_OK;
}

static int32_t begin(smq_json *json, int is_object) {
    int32_t status = check_value(json);
    if (status != SMQ_OK) return status;
    if (json->depth == SMQ_JSON_DEPTH) return fail(json, SMQ_ERR_TOO_LARGE);
    put_value(json, is_object ? "{" : "[", 1);
    uint32_t bit = (uint32_t)1 << json->depth++;
    json->objects = is_object ? json->objects | bit : json->objects & ~bit;
    json->expects = FIRST;
    return state_of(json);
}

int32_t smq_json_object(smq_json *json) { return begin(json, 1); }

int32_t smq_json_array(smq_json *json) { return begin(json, 0); }

int32_t smq_json_end(smq_json *json) {
    if (!json) return SMQ_ERR_NULL;
    if (json->status != SMQ_OK) return json->status;
    if (json->depth == 0 || json->expects == VALUE) return fail(json, SMQ_ERR_STATE);
    const char *bracket = is_in_object(json) ? "}" : "]";
    json->depth--;
    json->expects = FIRST; /* no comma before it */
    return put_value(json, bracket, 1);
}

int32_t smq_json_key(smq_json *json, const char *name) {
    if (!json) return SMQ_ERR_NULL;
    if (json->status != SMQ_OK) return json->status;
    if (!name) return fail(json, SMQ_ERR_NULL);
    if (!is_in_object(json) || json->expects == VALUE) return fail(json, SMQ_ERR_STATE);
    const uint8_t *bytes = (const uint8_t *)name;
    size_t size = strlen(name);
    if (!smq_payload_is_utf8(bytes, size)) return fail(json, SMQ_ERR_UTF8);
    uint8_t *place = claim(json, quoted_size(bytes, size, 1));
    if (place) *put_quoted(place, bytes, size) = ':';
    json->expects = VALUE;
    return state_of(json);
}

int32_t smq_json_string(smq_json *json, smq_bytes value) {
    int32_t status = check_bytes(json, value);
    if (status != SMQ_OK) return status;
    if (!smq_payload_is_utf8(value.data, value.size)) return fail(json, SMQ_ERR_UTF8);
    uint8_t *place = claim(json, quoted_size(value.data, value.size, 0));
    if (place) put_quoted(place, value.data, value.size);
    json->expects = json->depth ? NEXT : NOTHING;
    return state_of(json);
}

int32_t smq_json_base64url(smq_json *json, smq_bytes value) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    int32_t status = check_bytes(json, value);
    if (status != SMQ_OK) return status;
    const uint8_t *bytes = value.data;
    /* Four characters for three bytes, and for the rest one more than its bytes. */
    size_t rest = value.size % 3, triples = value.size / 3;
    size_t size = triples > (SIZE_MAX - 5) / 4 ? SIZE_MAX : triples * 4 + (rest ? rest + 1 : 0) + 2;
    uint8_t *place = claim(json, size);
    if (place) {
        *place++ = '"';
        for (size_t i = 0; i < value.size; i += 3) {
            size_t left = value.size - i < 3 ? value.size - i : 3;
            uint32_t group = (uint32_t)bytes[i] << 16;
            if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
            if (left > 2) group |= bytes[i + 2];
            for (size_t j = 0; j <= left; j++) *place++ = (uint8_t)alphabet[group >> (18 - 6 * j) & 63];
        }
        *place = '"';
    }
    json->expects = json->depth ? NEXT : NOTHING;
    return state_of(json);
}

static int32_t put_whole(smq_json *json, int is_negative, uint64_t value) {
    char text[21];
    int32_t status = check_value(json);
    if (status != SMQ_OK) return status;
    text[0] = '-';
    size_t sign = is_negative ? 1 : 0;
    return put_value(json, text, sign + smq_payload_uint(text + sign, value));
}

int32_t smq_json_int(smq_json *json, int64_t value) {
    return put_whole(json, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

int32_t smq_json_uint(smq_json *json, uint64_t value) { return put_whole(json, 0, value); }

static int32_t put_number(smq_json *json, uint64_t bits, int is_float, int is_finite) {
    char text[LONGEST_DECIMAL];
    int32_t status = check_value(json);
    if (status != SMQ_OK) return status;
    if (!is_finite) return fail(json, SMQ_ERR_OPTION); /* RFC 8259, section 6 */
    return put_value(json, text, smq_payload_number(text, bits, is_float));
}

int32_t smq_json_double(smq_json *json, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_number(json, bits, 0, (bits >> 52 & 0x7FF) != 0x7FF);
}

int32_t smq_json_float(smq_json *json, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_number(json, bits, 1, (bits >> 23 & 0xFF) != 0xFF);
}

static int32_t put_literal(smq_json *json, const char *text) {
    int32_t status = check_value(json);
    return status != SMQ_OK ? status : put_value(json, text, strlen(text));
}

int32_t smq_json_bool(smq_json *json, int value) { return put_literal(json, value ? "true" : "false"); }

int32_t smq_json_null(smq_json *json) { return put_literal(json, "null"); }

int32_t smq_json_raw(smq_json *json, smq_bytes value) {
    int32_t status = check_bytes(json, value);
    if (status != SMQ_OK) return status;
    if (value.size == 0) return fail(json, SMQ_ERR_OPTION);
    if (!smq_payload_is_utf8(value.data, value.size)) return fail(json, SMQ_ERR_UTF8);
    return put_value(json, value.data, value.size);
}

int32_t smq_json_finish(const smq_json *json, smq_bytes *payload) {
    if (!json || !payload) return SMQ_ERR_NULL;
    if (json->status != SMQ_OK) return json->status;
    if (json->expects != NOTHING) return SMQ_ERR_STATE;
    if (json->length > json->size) return SMQ_ERR_FULL;
    payload->data = json->buffer;
    payload->size = json->length;
    return SMQ_OK;
}
