/* The writer of CBOR (RFC 8949), in preferred serialization (section 4.1). */
#include "parts.h"

/* The major type of an item (section 3.1), in the upper three bits of its first byte. */
enum major {
    UNSIGNED = 0x00,
    NEGATIVE = 0x20,
    BYTES = 0x40,
    TEXT = 0x60,
    ARRAY = 0x80,
    MAP = 0xA0,
    TAG = 0xC0,
    SIMPLE = 0xE0
};

static int32_t fail(smq_cbor *cbor, int32_t error) { return cbor->status = error; }

static int32_t state_of(const smq_cbor *cbor) { return cbor->length > cbor->size ? SMQ_ERR_FULL : SMQ_OK; }

/* Whether an item may stand here. Changes nothing but the status. */
static int32_t check_item(smq_cbor *cbor) {
    if (!cbor) return SMQ_ERR_NULL;
    if (cbor->status != SMQ_OK) return cbor->status;
    return cbor->left[cbor->depth] > 0 ? SMQ_OK : fail(cbor, SMQ_ERR_STATE);
}

/* The bytes that carry an argument behind the first byte of a head. */
static unsigned argument_bytes(uint64_t argument) {
    if (argument < 24) return 0;
    return argument <= UINT8_MAX ? 1 : argument <= UINT16_MAX ? 2 : argument <= UINT32_MAX ? 4 : 8;
}

/* A head (section 3) with an argument in so many bytes, and what is behind it, as one token. */
static void put(smq_cbor *cbor, unsigned major, uint64_t argument, unsigned bytes, smq_bytes behind) {
    static const uint8_t additional[] = { 0, 24, 25, 0, 26, 0, 0, 0, 27 };
    size_t head = 1 + bytes;
    size_t size = behind.size > SIZE_MAX - head ? SIZE_MAX : behind.size + head;
    uint8_t *place = smq_payload_claim(cbor->buffer, cbor->size, &cbor->length, size);
    if (!place) return;
    *place++ = (uint8_t)(major | (bytes ? additional[bytes] : argument));
    for (unsigned left = bytes; left-- > 0;) *place++ = (uint8_t)(argument >> (8 * left));
    if (behind.size) memcpy(place, behind.data, behind.size);
}

static int32_t put_head(smq_cbor *cbor, unsigned major, uint64_t argument) {
    static const smq_bytes nothing = { NULL, 0 };
    int32_t status = check_item(cbor);
    if (status != SMQ_OK) return status;
    put(cbor, major, argument, argument_bytes(argument), nothing);
    cbor->left[cbor->depth]--;
    return state_of(cbor);
}

static int32_t put_string(smq_cbor *cbor, unsigned major, smq_bytes value) {
    int32_t status = check_item(cbor);
    if (status != SMQ_OK) return status;
    if (!value.data && value.size > 0) return fail(cbor, SMQ_ERR_NULL);
    if (major == TEXT && !smq_payload_is_utf8(value.data, value.size)) return fail(cbor, SMQ_ERR_UTF8);
    put(cbor, major, value.size, argument_bytes(value.size), value);
    cbor->left[cbor->depth]--;
    return state_of(cbor);
}

int32_t smq_cbor_init(smq_cbor *cbor, void *buffer, size_t size) {
    if (!cbor) return SMQ_ERR_NULL;
    memset(cbor, 0, sizeof *cbor);
    if (!buffer && size > 0) return fail(cbor, SMQ_ERR_NULL);
    cbor->buffer = buffer;
    cbor->size = size;
    cbor->left[0] = 1;
    return SMQ_OK;
}

static int32_t begin(smq_cbor *cbor, unsigned major, uint32_t count, uint32_t items_each) {
    int32_t status = check_item(cbor);
    if (status != SMQ_OK) return status;
    if (cbor->depth == SMQ_CBOR_DEPTH) return fail(cbor, SMQ_ERR_TOO_LARGE);
    status = put_head(cbor, major, count);
    cbor->left[++cbor->depth] = (uint64_t)count * items_each;
    return status;
}

int32_t smq_cbor_array(smq_cbor *cbor, uint32_t count) { return begin(cbor, ARRAY, count, 1); }

int32_t smq_cbor_map(smq_cbor *cbor, uint32_t pairs) { return begin(cbor, MAP, pairs, 2); }

int32_t smq_cbor_end(smq_cbor *cbor) {
    if (!cbor) return SMQ_ERR_NULL;
    if (cbor->status != SMQ_OK) return cbor->status;
    /* An item that a tag is for is among those that are missing. */
    if (cbor->depth == 0 || cbor->left[cbor->depth] > 0) return fail(cbor, SMQ_ERR_STATE);
    cbor->depth--;
    return state_of(cbor);
}

int32_t smq_cbor_tag(smq_cbor *cbor, uint64_t number) {
    int32_t status = put_head(cbor, TAG, number);
    if (status != SMQ_OK && status != SMQ_ERR_FULL) return status;
    cbor->left[cbor->depth]++; /* the tag and its item are one */
    return status;
}

int32_t smq_cbor_uint(smq_cbor *cbor, uint64_t value) { return put_head(cbor, UNSIGNED, value); }

int32_t smq_cbor_negative(smq_cbor *cbor, uint64_t value) { return put_head(cbor, NEGATIVE, value); }

int32_t smq_cbor_int(smq_cbor *cbor, int64_t value) {
    /* ~value is -1 - value. */
    return value < 0 ? smq_cbor_negative(cbor, ~(uint64_t)value) : smq_cbor_uint(cbor, (uint64_t)value);
}

int32_t smq_cbor_text(smq_cbor *cbor, smq_bytes value) { return put_string(cbor, TEXT, value); }

int32_t smq_cbor_bytes(smq_cbor *cbor, smq_bytes value) { return put_string(cbor, BYTES, value); }

/* The formats of IEEE 754 that are shorter than double, the shortest first. */
static const struct format {
    unsigned bytes;
    int fraction_bits, bias;
} shorter[] = { { 2, 10, 15 }, { 4, 23, 127 } };

/* Whether the format has the number of these bits of a double, and as which bits. */
static int has_number(const struct format *format, uint64_t bits, uint64_t *shortened) {
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1), sign = bits >> 63 << (8 * format->bytes - 1);
    int biased = (int)(bits >> 52 & 0x7FF), exponent = biased - 1023;
    int dropped = 52 - format->fraction_bits;
    uint64_t largest = (uint64_t)(2 * format->bias + 1); /* the exponent of infinities and NaN */
    if (biased == 0x7FF) {
        exponent = format->bias + 1;
    } else if (exponent < 1 - format->bias) {
        /* It is subnormal there: the hidden bit moves into the fraction. A subnormal double is below all of them. */
        if (biased == 0) {
            *shortened = sign;
            return fraction == 0;
        }
        dropped += 1 - format->bias - exponent;
        fraction |= (uint64_t)1 << 52;
        exponent = -format->bias;
        if (dropped > 52) return 0;
    }
    uint64_t field = (uint64_t)(exponent + format->bias);
    if (exponent > format->bias + 1 || (field == largest && biased != 0x7FF)) return 0;
    *shortened = sign | field << format->fraction_bits | fraction >> dropped;
    return (fraction & (((uint64_t)1 << dropped) - 1)) == 0;
}

int32_t smq_cbor_double(smq_cbor *cbor, double value) {
    static const smq_bytes nothing = { NULL, 0 };
    uint64_t bits, shortened;
    unsigned bytes = 8;
    int32_t status = check_item(cbor);
    if (status != SMQ_OK) return status;
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter && bytes == 8; i++)
        if (has_number(&shorter[i], bits, &shortened)) {
            bytes = shorter[i].bytes;
            bits = shortened;
        }
    put(cbor, SIMPLE, bits, bytes, nothing);
    cbor->left[cbor->depth]--;
    return state_of(cbor);
}

int32_t smq_cbor_float(smq_cbor *cbor, float value) { return smq_cbor_double(cbor, (double)value); }

int32_t smq_cbor_simple(smq_cbor *cbor, uint32_t value) {
    int32_t status = check_item(cbor);
    if (status != SMQ_OK) return status;
    /* Section 3.3: 24 to 31 are reserved, as their byte would be that of another item. */
    if (value > UINT8_MAX || (value >= 24 && value < 32)) return fail(cbor, SMQ_ERR_OPTION);
    return put_head(cbor, SIMPLE, value);
}

int32_t smq_cbor_bool(smq_cbor *cbor, int value) { return put_head(cbor, SIMPLE, value ? 21 : 20); }

int32_t smq_cbor_null(smq_cbor *cbor) { return put_head(cbor, SIMPLE, 22); }

int32_t smq_cbor_undefined(smq_cbor *cbor) { return put_head(cbor, SIMPLE, 23); }

int32_t smq_cbor_finish(const smq_cbor *cbor, smq_bytes *payload) {
    if (!cbor || !payload) return SMQ_ERR_NULL;
    if (cbor->status != SMQ_OK) return cbor->status;
    if (cbor->depth > 0 || cbor->left[0] > 0) return SMQ_ERR_STATE;
    if (cbor->length > cbor->size) return SMQ_ERR_FULL;
    payload->data = cbor->buffer;
    payload->size = cbor->length;
    return SMQ_OK;
}
