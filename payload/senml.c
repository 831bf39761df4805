/* The writer of SenML (RFC 8428), on those of JSON and CBOR. A record is checked before anything of it is written. */
#include "parts.h"

#define BASE_FIELDS                                                                                                    \
    (SMQ_SENML_BASE_NAME | SMQ_SENML_BASE_TIME | SMQ_SENML_BASE_UNIT | SMQ_SENML_BASE_VALUE | SMQ_SENML_BASE_SUM |     \
     SMQ_SENML_BASE_VERSION)
#define VALUES (SMQ_SENML_VALUE | SMQ_SENML_STRING | SMQ_SENML_BOOL | SMQ_SENML_DATA)
#define ALL_FIELDS                                                                                                     \
    (BASE_FIELDS | VALUES | SMQ_SENML_NAME | SMQ_SENML_UNIT | SMQ_SENML_TIME | SMQ_SENML_UPDATE_TIME | SMQ_SENML_SUM)

enum kind {
    NUMBER,
    STRING,
    DATA,
    BOOLEAN,
    VERSION
};

/* The labels of JSON and of CBOR (section 4.3 and table 4), in the order in which the fields are written. */
static const struct field {
    uint32_t flag;
    uint8_t kind;
    int8_t number;
    char label[5];
    size_t offset;
} fields[] = {
    { SMQ_SENML_BASE_NAME, STRING, -2, "bn", offsetof(smq_senml_record, base_name) },
    { SMQ_SENML_BASE_TIME, NUMBER, -3, "bt", offsetof(smq_senml_record, base_time) },
    { SMQ_SENML_BASE_UNIT, STRING, -4, "bu", offsetof(smq_senml_record, base_unit) },
    { SMQ_SENML_BASE_VALUE, NUMBER, -5, "bv", offsetof(smq_senml_record, base_value) },
    { SMQ_SENML_BASE_SUM, NUMBER, -6, "bs", offsetof(smq_senml_record, base_sum) },
    { SMQ_SENML_BASE_VERSION, VERSION, -1, "bver", offsetof(smq_senml_record, base_version) },
    { SMQ_SENML_NAME, STRING, 0, "n", offsetof(smq_senml_record, name) },
    { SMQ_SENML_UNIT, STRING, 1, "u", offsetof(smq_senml_record, unit) },
    { SMQ_SENML_TIME, NUMBER, 6, "t", offsetof(smq_senml_record, time) },
    { SMQ_SENML_UPDATE_TIME, NUMBER, 7, "ut", offsetof(smq_senml_record, update_time) },
    { SMQ_SENML_VALUE, NUMBER, 2, "v", offsetof(smq_senml_record, value) },
    { SMQ_SENML_STRING, STRING, 3, "vs", offsetof(smq_senml_record, string) },
    { SMQ_SENML_BOOL, BOOLEAN, 4, "vb", offsetof(smq_senml_record, boolean) },
    { SMQ_SENML_DATA, DATA, 8, "vd", offsetof(smq_senml_record, data) },
    { SMQ_SENML_SUM, NUMBER, 5, "s", offsetof(smq_senml_record, sum) },
};
#define FIELDS (sizeof fields / sizeof *fields)

static const void *value_of(const struct field *field, const smq_senml_record *record) {
    return (const uint8_t *)record + field->offset;
}

static int has_several(uint32_t flags) { return (flags & (flags - 1)) != 0; }

static int is_letter_or_digit(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* Section 4.5.1; is_first: the name begins with it. */
static int is_part_of_name(smq_bytes part, int is_first) {
    const uint8_t *bytes = part.data;
    if (is_first && part.size > 0 && !is_letter_or_digit(bytes[0])) return 0;
    for (size_t i = 0; i < part.size; i++)
        if (!is_letter_or_digit(bytes[i]) && (bytes[i] == 0 || !strchr("-:./_", bytes[i]))) return 0;
    return 1;
}

static int is_finite(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (bits >> 52 & 0x7FF) != 0x7FF;
}

/* Whether the value can be written at all. */
static int32_t check_field(const struct field *field, const smq_senml_record *record) {
    const void *value = value_of(field, record);
    if (field->kind == NUMBER) return is_finite(*(const double *)value) ? SMQ_OK : SMQ_ERR_OPTION;
    if (field->kind == VERSION) return *(const uint32_t *)value > 0 ? SMQ_OK : SMQ_ERR_OPTION;
    if (field->kind == BOOLEAN) return SMQ_OK;
    const smq_bytes *bytes = value;
    if (!bytes->data && bytes->size > 0) return SMQ_ERR_NULL;
    return field->kind == DATA || smq_payload_is_utf8(bytes->data, bytes->size) ? SMQ_OK : SMQ_ERR_UTF8;
}

/* Whether the record keeps the rules of section 4. Sets whether there is a base name behind it. */
static int32_t check_record(const smq_senml *senml, const smq_senml_record *record, uint8_t *named) {
    uint32_t flags = record->fields, values = flags & VALUES;
    if (flags == 0 || flags & ~(uint32_t)ALL_FIELDS) return SMQ_ERR_OPTION;
    for (size_t i = 0; i < FIELDS; i++) {
        int32_t status = flags & fields[i].flag ? check_field(&fields[i], record) : SMQ_OK;
        if (status != SMQ_OK) return status;
    }
    /* Section 4.4: all records of a pack are of one version. */
    if (flags & SMQ_SENML_BASE_VERSION && senml->begun) return SMQ_ERR_OPTION;
    *named = flags & SMQ_SENML_BASE_NAME ? record->base_name.size > 0 : senml->named;
    if (flags & SMQ_SENML_BASE_NAME && !is_part_of_name(record->base_name, 1)) return SMQ_ERR_OPTION;
    /* Section 5.1.7 has a record of base fields alone. */
    if (!(flags & ~(uint32_t)BASE_FIELDS)) return SMQ_OK;
    if (has_several(values) || (!values && !(flags & SMQ_SENML_SUM))) return SMQ_ERR_OPTION;
    int has_name = flags & SMQ_SENML_NAME && record->name.size > 0;
    if (!has_name) return *named ? SMQ_OK : SMQ_ERR_OPTION;
    return is_part_of_name(record->name, !*named) ? SMQ_OK : SMQ_ERR_OPTION;
}

static void put_json(smq_json *json, const struct field *field, const void *value) {
    smq_json_key(json, field->label);
    switch (field->kind) {
    case NUMBER:
        smq_json_double(json, *(const double *)value);
        break;
    case STRING:
        smq_json_string(json, *(const smq_bytes *)value);
        break;
    case DATA:
        smq_json_base64url(json, *(const smq_bytes *)value);
        break;
    case BOOLEAN:
        smq_json_bool(json, *(const uint32_t *)value != 0);
        break;
    default:
        smq_json_uint(json, *(const uint32_t *)value);
        break;
    }
}

/* Section 6: whole numbers may be integers, which are shorter. -0 has none. */
static void put_cbor_number(smq_cbor *cbor, double number) {
    static const double limit = 9007199254740992.0; /* 2^53 */
    static const double zero = 0;
    int is_whole = number > -limit && number < limit && (double)(int64_t)number == number;
    if (is_whole && (number != 0 || memcmp(&number, &zero, sizeof zero) == 0))
        smq_cbor_int(cbor, (int64_t)number);
    else
        smq_cbor_double(cbor, number);
}

static void put_cbor(smq_cbor *cbor, const struct field *field, const void *value) {
    smq_cbor_int(cbor, field->number);
    switch (field->kind) {
    case NUMBER:
        put_cbor_number(cbor, *(const double *)value);
        break;
    case STRING:
        smq_cbor_text(cbor, *(const smq_bytes *)value);
        break;
    case DATA:
        smq_cbor_bytes(cbor, *(const smq_bytes *)value);
        break;
    case BOOLEAN:
        smq_cbor_bool(cbor, *(const uint32_t *)value != 0);
        break;
    default:
        smq_cbor_uint(cbor, *(const uint32_t *)value);
        break;
    }
}

/* The status of the writer that is used, which has that of the pack, too. */
static int32_t *status_of(smq_senml *senml) {
    return senml->format == SMQ_SENML_CBOR ? &senml->cbor.status : &senml->json.status;
}

static int32_t state_of(smq_senml *senml) {
    size_t size = senml->format == SMQ_SENML_CBOR ? senml->cbor.size : senml->json.size;
    if (*status_of(senml) != SMQ_OK) return *status_of(senml);
    return smq_senml_length(senml) > size ? SMQ_ERR_FULL : SMQ_OK;
}

int32_t smq_senml_init(smq_senml *senml, uint32_t format, void *buffer, size_t size, uint32_t records) {
    if (!senml) return SMQ_ERR_NULL;
    memset(senml, 0, sizeof *senml);
    senml->format = format;
    senml->left = records;
    if (format > SMQ_SENML_CBOR || records == 0) return *status_of(senml) = SMQ_ERR_OPTION;
    if (format == SMQ_SENML_CBOR) {
        smq_cbor_init(&senml->cbor, buffer, size);
        smq_cbor_array(&senml->cbor, records);
    } else {
        smq_json_init(&senml->json, buffer, size);
        smq_json_array(&senml->json);
    }
    return state_of(senml);
}

int32_t smq_senml_add(smq_senml *senml, const smq_senml_record *record) {
    uint8_t named = 0;
    if (!senml) return SMQ_ERR_NULL;
    if (*status_of(senml) != SMQ_OK) return *status_of(senml);
    int32_t status = !record                          ? SMQ_ERR_NULL
                     : record->size != sizeof *record ? SMQ_ERR_STRUCT_SIZE
                     : senml->left == 0               ? SMQ_ERR_STATE
                                                      : check_record(senml, record, &named);
    if (status != SMQ_OK) return *status_of(senml) = status;
    senml->left--;
    senml->begun = 1;
    senml->named = named;
    uint32_t count = 0;
    for (size_t i = 0; i < FIELDS; i++) count += (record->fields & fields[i].flag) != 0;
    int is_cbor = senml->format == SMQ_SENML_CBOR;
    if (is_cbor)
        smq_cbor_map(&senml->cbor, count);
    else
        smq_json_object(&senml->json);
    for (size_t i = 0; i < FIELDS; i++) {
        if (!(record->fields & fields[i].flag)) continue;
        if (is_cbor)
            put_cbor(&senml->cbor, &fields[i], value_of(&fields[i], record));
        else
            put_json(&senml->json, &fields[i], value_of(&fields[i], record));
    }
    if (is_cbor)
        smq_cbor_end(&senml->cbor);
    else
        smq_json_end(&senml->json);
    return state_of(senml);
}

size_t smq_senml_length(const smq_senml *senml) {
    if (!senml) return 0;
    return senml->format == SMQ_SENML_CBOR ? senml->cbor.length : senml->json.length;
}

int32_t smq_senml_finish(smq_senml *senml, smq_bytes *payload) {
    if (!senml || !payload) return SMQ_ERR_NULL;
    if (*status_of(senml) != SMQ_OK) return *status_of(senml);
    if (senml->left > 0) return SMQ_ERR_STATE;
    if (senml->format == SMQ_SENML_CBOR) {
        if (senml->cbor.depth > 0) smq_cbor_end(&senml->cbor);
        return smq_cbor_finish(&senml->cbor, payload);
    }
    if (senml->json.depth > 0) smq_json_end(&senml->json);
    return smq_json_finish(&senml->json, payload);
}
