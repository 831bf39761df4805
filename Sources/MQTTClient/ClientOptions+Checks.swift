import Driver
import MQTTWire
import Platform
import Storage

/// The checks of everything that is no number: properties, the host, texts, the Will.
extension ClientOptions {
  /// This build has what is asked for.
  static func areFeaturesThere(_ request: borrowing RequestedOptions) -> Bool {
    (Feature.hasFallback || !request.fallback)
      && (Feature.hasTopicAliases
        || (request.topicAliasesIn | request.topicAliasesOut | request.topicAliasBytes == 0))
      && (Feature.hasParts || !request.parts)
      && (Feature.hasQuestions
        || (!request.connection.askCredentials && !request.connection.ownResolver
          && request.credentialBytes == 0))
      && (Feature.hasEngine || !request.connection.ownTransport)
      && (Feature.hasStreams || request.streamBytes == 0)
      && (Feature.hasReferences || request.references == 0)
      && (Feature.hasJournal || request.journal.count == 0)
      && (Feature.hasTap
        || (request.traceBytes | request.tracePacketBytes == 0 && request.inspectionPath.count == 0))
      && (Feature.hasReplies || request.responses == 0)
      && (Feature.hasRedirect || !request.redirect)
      && (Feature.hasUrgent || request.urgentMessages | request.urgentBytes == 0)
      && (Feature.hasHandlers || request.handlers | request.handlerBytes == 0)
      && (Feature.hasSubmit || request.submitMessages | request.submitBytes == 0)
  }

  /// CONNECT may carry these properties (§3.1.2.11), except for those that have fields in the options.
  static func checkProperties(_ list: Span<UInt8>) throws(OptionsError) {
    var reader = PropertyReader(list, in: .packet(.connect, from: .client))
    var hasMethod = false
    var hasData = false
    do throws(Malformed) {
      while let property = try reader.next() {
        switch property.identifier {
        case .sessionExpiryInterval, .receiveMaximum, .maximumPacketSize, .topicAliasMaximum:
          guard DropIn.isOn else { throw .propertyNotAllowed }
        case .authenticationMethod: hasMethod = true
        case .authenticationData: hasData = true
        default: break
        }
      }
    } catch {
      throw .property
    }
    guard Feature.hasAuthentication || !hasMethod else { throw .notSupported(at: 0) }
    // §3.1.2.11.10
    guard hasMethod || !hasData else { throw .property }
  }

  static func checkWillProperties(
    _ list: Span<UInt8>, hasExpiry: Bool
  ) throws(OptionsError) {
    var reader = PropertyReader(list, in: .will)
    do throws(Malformed) {
      while let property = try reader.next() {
        if property.identifier == .messageExpiryInterval, hasExpiry { throw .propertyRepeated }
        guard property.identifier == .responseTopic else { continue }
        guard (try? TopicName.validate(list.extracting(property.text.range))) != nil else {
          throw .topicName
        }
      }
    } catch {
      throw .property
    }
  }

  static func checkTexts(
    _ request: borrowing RequestedOptions, _ version: ProtocolVersion
  ) throws(OptionsError) {
    let limit = UTF8EncodedString.maximumSize
    guard request.clientID.count <= limit, request.userName.count <= limit,
      request.password.count <= limit
    else { throw .option }
    guard UTF8EncodedString.isValid(request.clientID), UTF8EncodedString.isValid(request.userName)
    else { throw .utf8 }
    // No client could resume a session without a Client Identifier [MQTT-3.1.3-7].
    guard request.clientID.count > 0 || !request.keepSession else { throw .clientID }
  }

  @_lifetime(copy request)
  static func will(
    _ request: borrowing RequestedOptions, _ version: ProtocolVersion
  ) throws(OptionsError) -> Connect.Will {
    guard request.hasWill else {
      return Connect.Will(
        topic: Span(), payload: Span(), qos: .atMostOnce, retain: false, properties: Span())
    }
    guard let qos = QoS(rawValue: request.willQoS) else { throw .qos }
    guard request.willRetain <= 1 else { throw .option }
    do throws(TopicName.Fault) {
      try TopicName.validate(request.willTopic)
    } catch {
      if case .utf8 = error { throw .utf8 }
      throw .topicName
    }
    guard request.willPayload.count <= 65_535 else { throw .tooLarge }
    guard version.hasProperties || (request.willProperties.count == 0 && request.willExpiry == 0) else {
      throw .option
    }
    try checkWillProperties(request.willProperties, hasExpiry: request.willExpiry != 0)
    return Connect.Will(
      topic: request.willTopic, payload: request.willPayload, qos: qos,
      retain: request.willRetain == 1, properties: request.willProperties,
      messageExpiryInterval: request.willExpiry)
  }
}
