import CInterface

/// The Connect Return codes of 3.1.1 (its §3.2.2.3). Beside them there is only the 0x80 of SUBACK.
var returnCodeNames: NameList {
  NameList(
    first: 0, count: 6,
    text: """
      Connection Accepted\0\
      Unacceptable protocol version\0\
      Identifier rejected\0\
      Server unavailable\0\
      Bad user name or password\0\
      Not authorized
      """)
}

/// The Reason Codes of 5.0 below 0x80 (§2.4). 0x00 has several names; the list has the first.
var successNames: NameList {
  NameList(
    first: 0, count: 26,
    text: """
      Success\0\
      Granted QoS 1\0\
      Granted QoS 2\0\
      \0\
      Disconnect with Will Message\0\
      \0\0\0\0\0\0\0\0\0\0\0\
      No matching subscribers\0\
      No subscription existed\0\
      \0\0\0\0\0\0\
      Continue authentication\0\
      Re-authenticate
      """)
}

/// The Reason Codes of 5.0 from 0x80 on.
var refusalNames: NameList {
  NameList(
    first: 0x80, count: 35,
    text: """
      Unspecified error\0\
      Malformed Packet\0\
      Protocol Error\0\
      Implementation specific error\0\
      Unsupported Protocol Version\0\
      Client Identifier not valid\0\
      Bad User Name or Password\0\
      Not authorized\0\
      Server unavailable\0\
      Server busy\0\
      Banned\0\
      Server shutting down\0\
      Bad authentication method\0\
      Keep Alive timeout\0\
      Session taken over\0\
      Topic Filter invalid\0\
      Topic Name invalid\0\
      Packet Identifier in use\0\
      Packet Identifier not found\0\
      Receive Maximum exceeded\0\
      Topic Alias invalid\0\
      Packet too large\0\
      Message rate too high\0\
      Quota exceeded\0\
      Administrative action\0\
      Payload format invalid\0\
      Retain not supported\0\
      QoS not supported\0\
      Use another server\0\
      Server moved\0\
      Shared Subscriptions not supported\0\
      Connection rate exceeded\0\
      Maximum connect time\0\
      Subscription Identifiers not supported\0\
      Wildcard Subscriptions not supported
      """)
}

/// The rules of the header, each with the statement it comes from.
var ruleNames: NameList {
  NameList(
    first: 0, count: 31,
    text: """
      none\0\
      a field ends with its packet (section 4.13.1)\0\
      no bytes behind the last field (section 4.13.1)\0\
      Remaining Length in at most four bytes, and no more than needed [MQTT-1.5.5-1]\0\
      a packet type that a server may send (section 2.1.2)\0\
      reserved flags as listed [MQTT-2.1.3-1]\0\
      QoS is not 3 [MQTT-3.3.1-4]\0\
      no DUP with QoS 0 [MQTT-3.3.1-2]\0\
      a Packet Identifier is not 0 (section 2.2.1)\0\
      well-formed UTF-8 without U+0000 [MQTT-1.5.4-1] [MQTT-1.5.4-2]\0\
      a Variable Byte Integer in as few bytes as possible [MQTT-1.5.5-1]\0\
      no wildcard in a Topic Name [MQTT-3.3.2-2]\0\
      a Topic Name of at least one character, or a Topic Alias [MQTT-4.7.3-1]\0\
      reserved Connect Acknowledge Flags are 0 [MQTT-3.2.2-1]\0\
      a Reason Code that this packet may carry (section 2.4)\0\
      no Session Present with a refusal [MQTT-3.2.2-6]\0\
      a property that exists (section 2.2.2.2)\0\
      a property that this packet may carry (Table 2-4)\0\
      a property at most once (section 2.2.2.2)\0\
      a property's value in its range (Table 2-4)\0\
      an Authentication Method in AUTH (section 3.15.2.2.2)\0\
      a packet that a server may send now (section 4.13.1)\0\
      CONNACK, or AUTH, comes first [MQTT-3.2.0-1]\0\
      no Session Present after a Clean Start [MQTT-3.2.2-2]\0\
      an acknowledgement fits what it acknowledges (section 4.3)\0\
      a Reason Code for each Topic Filter [MQTT-3.8.4-6] [MQTT-3.11.3-1]\0\
      no Topic Alias above Topic Alias Maximum (section 3.3.2.3.4)\0\
      a Topic Alias that stands for a topic (section 3.3.2.3.4)\0\
      no more unacknowledged messages than Receive Maximum [MQTT-3.3.4-9]\0\
      no packet above Maximum Packet Size [MQTT-3.1.2-24], or the receive buffer\0\
      AUTH when it was asked for, with the method of CONNECT [MQTT-4.12.0-5] [MQTT-4.12.0-6]
      """)
}
