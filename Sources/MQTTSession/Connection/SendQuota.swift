/// How many QoS 1 and 2 messages may be on their way (§4.9): all that is published counts against one quota.
struct SendQuota: BitwiseCopyable {
  private(set) var limit = 0
  /// Negative if a server lowers the limit below what it has not completed.
  var left = 0

  init() {}

  init(limit: Int) {
    self.limit = limit
    left = limit
  }

  var inFlight: Int { limit &- left }
}
