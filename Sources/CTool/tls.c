/* libswiftmqtt-tls, loaded when TLS is asked for: without it the program is smaller, and installed without OpenSSL. */
#include "tool.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int32_t (*open_function)(const smq_tls_options *options, smq_tls **tls, smq_tls_failure *why);
typedef const smq_tls_engine *(*engine_function)(void);
typedef int (*prompt_function)(char *to, int size, int is_written, void *user);

/* A pointer to data becomes one to a function, as POSIX wants it of dlsym(). */
static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static int32_t is_missing(tool_tls_failure *why) {
    const char *text = dlerror();
    snprintf(why->text, sizeof why->text, "%s", text ? text : "it lacks a function");
    return TOOL_TLS_MISSING;
}

/* OpenSSL's own question on the terminal, as mosquitto_pub has it: the library depends on libcrypto, whose symbols are found
   through its handle. */
static int32_t ask(void *library, char *to, size_t size) {
    prompt_function prompt;
    find(library, "PEM_def_callback", &prompt);
    return prompt && size <= INT32_MAX ? prompt(to, (int)size, 0, NULL) : -1;
}

int32_t tool_tls_open(const smq_tls_options *options, const smq_tls_engine **engine, smq_tls **settings,
                      tool_tls_failure *why) {
    smq_tls_failure told = { 0 };
    int32_t status;
    smq_tls_options with_prompt = *options;
    engine_function get_engine;
    open_function open_settings;
    void *library = dlopen("libswiftmqtt-tls.so.1", RTLD_NOW | RTLD_LOCAL); /* never closed: connections use it */
    if (!library) return is_missing(why);
    find(library, "smq_tls_openssl", &get_engine);
    find(library, "smq_tls_open", &open_settings);
    if (!get_engine || !open_settings) return is_missing(why);
    with_prompt.password = ask;
    with_prompt.password_user = library;
    *engine = get_engine();
    told.size = sizeof told;
    status = open_settings(&with_prompt, settings, &told);
    why->cause = told.cause;
    memcpy(why->text, told.text, sizeof told.text);
    return status;
}
