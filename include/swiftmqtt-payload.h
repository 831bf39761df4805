/*
 * Payloads in the formats of the field: writers for JSON, CBOR and SenML.
 *
 * SPDX-License-Identifier: MIT
 *
 * A program links libswiftmqtt-payload.a for them. They need nothing of libswiftmqtt but the types and the
 * status codes of its header, and nothing of libc but functions of <string.h>.
 *
 * A writer is a struct of the program and writes into a buffer of the program. It allocates nothing, reads
 * no locale and keeps no pointer besides that of the buffer, which has to stay valid until the payload was
 * used. Nothing has to be released.
 *
 *     char buffer[128];
 *     smq_json json;
 *     smq_bytes payload;
 *     smq_json_init(&json, buffer, sizeof buffer);
 *     smq_json_object(&json);
 *     smq_json_key(&json, "celsius");
 *     smq_json_double(&json, 21.5);
 *     smq_json_end(&json);
 *     status = smq_json_finish(&json, &payload);        {"celsius":21.5}
 *
 * Errors. A program may ignore what the calls return, and ask smq_…_finish() alone. The first wrong call
 * decides: it writes nothing, and every later call returns its error. What is wrong:
 *
 *     SMQ_ERR_NULL        a pointer is NULL that must not be
 *     SMQ_ERR_STATE       the value has no place here: a value in an object without a key, a key that is not
 *                         in an object, an element too many or too few, an end without a beginning, a second
 *                         value behind the end; from smq_…_finish(): something is not ended, or is missing
 *     SMQ_ERR_OPTION      the value cannot be expressed: NaN or an infinity in JSON; a SenML record that breaks
 *                         a rule of RFC 8428
 *     SMQ_ERR_UTF8        a string is not well-formed UTF-8 (U+0000 is allowed)
 *     SMQ_ERR_TOO_LARGE   the nesting is deeper than SMQ_JSON_DEPTH or SMQ_CBOR_DEPTH
 *
 * A full buffer is no wrong call. From the first token that does not fit, the writer writes nothing any more,
 * and goes on counting: the calls return SMQ_ERR_FULL, wrong calls are still found, and the field length has
 * the bytes that the payload needs. A buffer of NULL and 0 measures. The buffer never has a part of a token:
 * a token is a string, a number or a bracket, with the comma or colon that belongs to it.
 *
 * Threads. A writer is not locked: one thread at a time. Different writers are independent.
 */
#ifndef SWIFTMQTT_PAYLOAD_H
#define SWIFTMQTT_PAYLOAD_H

#include "swiftmqtt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * 1  JSON (RFC 8259)
 * ------------------------------------------------------------------------------------------- */

/* How deep objects and arrays may be nested. */
#define SMQ_JSON_DEPTH 32

/* A text of JSON while it is written. smq_json_init() sets it. */
typedef struct smq_json {
    uint8_t *buffer;
    size_t size;      /* of the buffer, in bytes */
    size_t length;    /* to be read: bytes of the text so far, whether they had room or not */
    int32_t status;   /* SMQ_OK, or the error of the first wrong call */
    uint32_t objects; /* a bit for each level that is open: 1 for an object, 0 for an array */
    uint8_t depth;    /* levels that are open */
    uint8_t expects;  /* what may follow */
    uint8_t reserved[2];
} smq_json;

/*
 * Begins a text. It is one value: an object, an array, or any other.
 *
 * json     the writer
 * buffer   where the text goes; may be NULL if size is 0
 * size     its bytes
 *
 * Returns SMQ_OK or SMQ_ERR_NULL.
 */
int32_t smq_json_init(smq_json *json, void *buffer, size_t size);

/*
 * Begins an object, whose members are pairs of smq_json_key() and a value. That no name is used twice is up to
 * the program (RFC 8259, section 4).
 *
 * json   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_object(smq_json *json);

/*
 * Begins an array.
 *
 * json   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_array(smq_json *json);

/*
 * Ends the object or the array that was begun last.
 *
 * json   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_end(smq_json *json);

/*
 * Writes the name of a member. Its value has to follow.
 *
 * json   the writer
 * name   UTF-8, zero-terminated
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_key(smq_json *json, const char *name);

/*
 * Writes a string. Quotation mark, backslash and U+0000 to U+001F are escaped (RFC 8259, section 7), everything
 * else is written as it is.
 *
 * json    the writer
 * value   UTF-8
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_string(smq_json *json, smq_bytes value);

/*
 * Writes bytes as a string of base64url without padding (RFC 4648, section 5), as RFC 8949, section 6.1, and
 * SenML have it.
 *
 * json    the writer
 * value   any bytes
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_base64url(smq_json *json, smq_bytes value);

/*
 * Writes a whole number. Many readers take numbers for doubles: beyond 2^53 they may see another one (RFC 8259,
 * section 6).
 *
 * json    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_int(smq_json *json, int64_t value);

/*
 * Writes a whole number that is not negative. smq_json_int() says more.
 *
 * json    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_uint(smq_json *json, uint64_t value);

/*
 * Writes a number: the shortest decimal that reads back as the same double, and among those the nearest to it.
 * It has at most 17 digits and 24 characters. Below 1e-4 and from 1e16 it has an exponent. Whole numbers have no
 * ".0", but for -0.0.
 *
 * json    the writer
 * value   finite
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_double(smq_json *json, double value);

/*
 * Writes a number: the shortest decimal that reads back as the same float, such as 0.1 for 0.1f, also where a
 * reader takes it for a double first.
 *
 * json    the writer
 * value   finite
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_float(smq_json *json, float value);

/*
 * Writes true or false.
 *
 * json    the writer
 * value   0: false; otherwise: true
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_bool(smq_json *json, int value);

/*
 * Writes null.
 *
 * json   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_null(smq_json *json);

/*
 * Writes a value that is JSON already, as it is, as one token. Only its UTF-8 is checked, and that it is not
 * empty.
 *
 * json    the writer
 * value   one value of JSON
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_json_raw(smq_json *json, smq_bytes value);

/*
 * Says whether the text is whole, and where it is. Changes nothing: more may follow if it is not.
 *
 * json      the writer
 * payload   where to put it; only written with SMQ_OK. It points into the buffer; there is no zero behind it
 *
 * Returns SMQ_OK; SMQ_ERR_FULL if the text is whole, but the buffer was too small: json->length has the bytes that
 * it needs; or SMQ_ERR_NULL, SMQ_ERR_STATE or the error of the first wrong call.
 */
int32_t smq_json_finish(const smq_json *json, smq_bytes *payload);

/* ---------------------------------------------------------------------------------------------
 * 2  CBOR (RFC 8949)
 * ------------------------------------------------------------------------------------------- */

/* How deep arrays and maps may be nested. */
#define SMQ_CBOR_DEPTH 16

/* A data item of CBOR while it is written. smq_cbor_init() sets it. */
typedef struct smq_cbor {
    uint8_t *buffer;
    size_t size;    /* of the buffer, in bytes */
    size_t length;  /* to be read: bytes of the item so far, whether they had room or not */
    int32_t status; /* SMQ_OK, or the error of the first wrong call */
    uint8_t depth;  /* levels that are open */
    uint8_t reserved[3];
    uint64_t left[SMQ_CBOR_DEPTH + 1]; /* items that are missing on each level */
} smq_cbor;

/*
 * Begins a data item. What is written is CBOR's preferred serialization (RFC 8949, section 4.1): everything in its
 * shortest form, with definite lengths. The order of the keys in a map is the program's.
 *
 * cbor     the writer
 * buffer   where the item goes; may be NULL if size is 0
 * size     its bytes
 *
 * Returns SMQ_OK or SMQ_ERR_NULL.
 */
int32_t smq_cbor_init(smq_cbor *cbor, void *buffer, size_t size);

/*
 * Begins an array. smq_cbor_end() has to follow after just so many items.
 *
 * cbor    the writer
 * count   its items
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_array(smq_cbor *cbor, uint32_t count);

/*
 * Begins a map. smq_cbor_end() has to follow after just so many pairs of two items: a key of any kind, and its value.
 * That no key is used twice is up to the program (RFC 8949, section 5.6).
 *
 * cbor    the writer
 * pairs   its pairs
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_map(smq_cbor *cbor, uint32_t pairs);

/*
 * Ends the array or the map that was begun last. It writes nothing: it checks that nothing is missing.
 *
 * cbor   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_end(smq_cbor *cbor);

/*
 * Writes a tag (RFC 8949, section 3.4). The item that it is for has to follow.
 *
 * cbor     the writer
 * number   of the tag, such as 1 for a time in seconds since 1970
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_tag(smq_cbor *cbor, uint64_t number);

/*
 * Writes a whole number.
 *
 * cbor    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_int(smq_cbor *cbor, int64_t value);

/*
 * Writes a whole number that is not negative.
 *
 * cbor    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_uint(smq_cbor *cbor, uint64_t value);

/*
 * Writes the whole number -1 - value, which CBOR has down to -2^64.
 *
 * cbor    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_negative(smq_cbor *cbor, uint64_t value);

/*
 * Writes a text string, as one token with its head.
 *
 * cbor    the writer
 * value   UTF-8
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_text(smq_cbor *cbor, smq_bytes value);

/*
 * Writes a byte string, as one token with its head.
 *
 * cbor    the writer
 * value   any bytes
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_bytes(smq_cbor *cbor, smq_bytes value);

/*
 * Writes a floating-point number: the shortest of half, single and double precision that has just this value
 * (RFC 8949, section 4.1), also of infinities and of NaN, whose payload is kept.
 *
 * cbor    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_double(smq_cbor *cbor, double value);

/*
 * Writes a floating-point number: the shorter of half and single precision that has just this value.
 *
 * cbor    the writer
 * value   any
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_float(smq_cbor *cbor, float value);

/*
 * Writes true or false.
 *
 * cbor    the writer
 * value   0: false; otherwise: true
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_bool(smq_cbor *cbor, int value);

/*
 * Writes null.
 *
 * cbor   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_null(smq_cbor *cbor);

/*
 * Writes undefined.
 *
 * cbor   the writer
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_undefined(smq_cbor *cbor);

/*
 * Writes a simple value (RFC 8949, section 3.3).
 *
 * cbor    the writer
 * value   0 to 23 or 32 to 255; anything else is SMQ_ERR_OPTION
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call.
 */
int32_t smq_cbor_simple(smq_cbor *cbor, uint32_t value);

/*
 * Says whether the item is whole, and where it is. Changes nothing: more may follow if it is not.
 *
 * cbor      the writer
 * payload   where to put it; only written with SMQ_OK. It points into the buffer
 *
 * Returns SMQ_OK; SMQ_ERR_FULL if the item is whole, but the buffer was too small: cbor->length has the bytes that
 * it needs; or SMQ_ERR_NULL, SMQ_ERR_STATE or the error of the first wrong call.
 */
int32_t smq_cbor_finish(const smq_cbor *cbor, smq_bytes *payload);

/* ---------------------------------------------------------------------------------------------
 * 3  SenML (RFC 8428)
 * ------------------------------------------------------------------------------------------- */

/* What a pack of SenML is written as: application/senml+json, application/senml+cbor. */
enum {
    SMQ_SENML_JSON = 0,
    SMQ_SENML_CBOR = 1
};

/* Which fields a record has (RFC 8428, section 4): smq_senml_record.fields. */
enum {
    SMQ_SENML_BASE_NAME = 1,
    SMQ_SENML_BASE_TIME = 2,
    SMQ_SENML_BASE_UNIT = 4,
    SMQ_SENML_BASE_VALUE = 8,
    SMQ_SENML_BASE_SUM = 16,
    SMQ_SENML_BASE_VERSION = 32,
    SMQ_SENML_NAME = 64,
    SMQ_SENML_UNIT = 128,
    SMQ_SENML_TIME = 256,
    SMQ_SENML_UPDATE_TIME = 512,
    SMQ_SENML_VALUE = 1024,
    SMQ_SENML_STRING = 2048,
    SMQ_SENML_BOOL = 4096,
    SMQ_SENML_DATA = 8192,
    SMQ_SENML_SUM = 16384
};

/*
 * A record of a pack. Only what fields names is read. Base fields are for this record and those behind it.
 *
 * A record with a field that is not a base field has exactly one of VALUE, STRING, BOOL and DATA, or has SUM, and
 * then at most one of them. Its base name and name together are not empty, begin with a letter or a digit, and have
 * no other characters than letters, digits and "-:./_" (section 4.5.1).
 */
typedef struct smq_senml_record {
    uint32_t size;         /* sizeof(smq_senml_record) */
    uint32_t fields;       /* SMQ_SENML_…, added */
    smq_bytes base_name;   /* such as "urn:dev:mac:0024befffe804ff1:" (RFC 9039) */
    smq_bytes base_unit;   /* UTF-8, such as "Cel": IANA has the list */
    double base_time;      /* seconds since 1970; below 2^28: seconds from now (section 4.5.3) */
    double base_value;     /* added to value */
    double base_sum;       /* added to sum */
    smq_bytes name;        /* behind the base name */
    smq_bytes unit;        /* UTF-8; otherwise that of base_unit */
    double time;           /* added to base_time */
    double update_time;    /* seconds until the next reading, at most */
    double value;          /* a number, finite as all of them */
    smq_bytes string;      /* UTF-8 */
    smq_bytes data;        /* any bytes */
    double sum;            /* the integral of the value over time, in its unit times seconds */
    uint32_t base_version; /* 1 or more; otherwise 10, which is RFC 8428. It comes first in the pack, if at all */
    uint32_t boolean;      /* 0: false; otherwise: true */
} smq_senml_record;

/* A smq_senml_record with its size set, and no fields. */
#define SMQ_SENML_RECORD_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(smq_senml_record), 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, 0, 0, 0,             \
            { NULL, 0 }, { NULL, 0 }, 0, 0, 0                                                                          \
    }

/* A pack of SenML while it is written. smq_senml_init() sets it. */
typedef struct smq_senml {
    uint32_t format; /* SMQ_SENML_JSON or SMQ_SENML_CBOR */
    uint32_t left;   /* records that are missing */
    uint8_t named;   /* 1: there is a base name that is not empty */
    uint8_t begun;   /* 1: there was a record */
    uint8_t reserved[6];
    smq_json json; /* the one of the two that is used */
    smq_cbor cbor;
} smq_senml;

/*
 * Begins a pack: an array of records.
 *
 * senml     the writer
 * format    SMQ_SENML_JSON or SMQ_SENML_CBOR
 * buffer    where the pack goes; may be NULL if size is 0
 * size      its bytes
 * records   how many records the pack has: 1 or more
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, SMQ_ERR_NULL, or SMQ_ERR_OPTION if the format is unknown or records is 0.
 */
int32_t smq_senml_init(smq_senml *senml, uint32_t format, void *buffer, size_t size, uint32_t records);

/*
 * Writes a record. In CBOR, numbers that are whole and below 2^53 are integers (RFC 8428, section 6); in JSON, data
 * is base64url without padding.
 *
 * senml    the writer
 * record   its fields; used during the call
 *
 * Returns SMQ_OK, SMQ_ERR_FULL, or the error of the first wrong call, which may be SMQ_ERR_STRUCT_SIZE here.
 */
int32_t smq_senml_add(smq_senml *senml, const smq_senml_record *record);

/*
 * Returns the bytes of the pack so far, whether they had room or not; 0 for NULL.
 *
 * senml   the writer
 */
size_t smq_senml_length(const smq_senml *senml);

/*
 * Ends the pack after its last record, and says where it is.
 *
 * senml     the writer
 * payload   where to put it; only written with SMQ_OK. It points into the buffer
 *
 * Returns SMQ_OK; SMQ_ERR_FULL if the pack is whole, but the buffer was too small: smq_senml_length() has the bytes
 * that it needs; or SMQ_ERR_NULL, SMQ_ERR_STATE or the error of the first wrong call.
 */
int32_t smq_senml_finish(smq_senml *senml, smq_bytes *payload);

#ifdef __cplusplus
}
#endif

#endif
