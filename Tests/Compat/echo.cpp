/* echo PORT TOPIC: a program on libmosquitto's C++ classes. It publishes "hello", and whatever arrives at TOPIC/in it sends
 * to TOPIC/out, until that is "end". What it was told is on stdout. */
#include <mosquittopp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

class Echo : public mosqpp::mosquittopp {
public:
    explicit Echo(const std::string &topic) : mosqpp::mosquittopp(nullptr, true), topic(topic) {
        will_set((topic + "/gone").c_str(), 4, "gone", 1, false);
    }

    void on_connect(int rc) override {
        std::printf("on_connect %d\n", rc);
        subscribe(nullptr, (topic + "/in").c_str(), 2);
    }

    void on_subscribe(int, int count, const int *granted) override {
        std::printf("on_subscribe %d %d\n", count, granted[0]);
        publish(nullptr, (topic + "/out").c_str(), 5, "hello", 1, true);
    }

    void on_message(const mosquitto_message *message) override {
        std::string text(static_cast<const char *>(message->payload), static_cast<size_t>(message->payloadlen));
        bool matches = false;
        mosqpp::topic_matches_sub((topic + "/+").c_str(), message->topic, &matches);
        std::printf("on_message %s %d %d %d\n", text.c_str(), message->qos, message->retain, matches);
        publish(nullptr, (topic + "/out").c_str(), message->payloadlen, message->payload, 2);
        isOver = text == "end";
    }

    void on_publish(int) override {
        std::printf("on_publish\n");
        if (isOver) disconnect();
    }

    void on_disconnect(int rc) override { std::printf("on_disconnect %d\n", rc); }

private:
    std::string topic;
    bool isOver = false;
};

int main(int, char **arguments) {
    mosqpp::lib_init();
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    {
        Echo echo(arguments[2]);
        int rc = echo.connect("127.0.0.1", std::atoi(arguments[1]), 60);
        std::printf("connect %s\n", mosqpp::strerror(rc));
        rc = echo.loop_forever();
        std::printf("loop_forever %s\n", mosqpp::strerror(rc));
    }
    mosqpp::lib_cleanup();
    return 0;
}
