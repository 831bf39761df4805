// A socket for smq inspect, for a program that knows nothing of it: MOSQUITTO_INSPECT says in which directory.

import CMosquitto
import MQTTClient
import Platform

extension Mosquitto.Locked {
  mutating func chooseInspection() {
    unsafe MosquittoCompat.free(&state.inspectPath)
    unsafe state.inspectPath = shim_inspect_path(state.id)
    guard let path = unsafe state.inspectPath, unsafe shim_length(path) > InspectionSocket.longestPath else {
      return
    }
    logUnseen(SystemError.nameTooLong)
    unsafe MosquittoCompat.free(&state.inspectPath)
  }

  /// A client that cannot be looked at does its work nevertheless.
  mutating func openInspection(_ options: borrowing ClientOptions) {
    guard options.inspectionBytes > 0 else { return }
    do throws(PlatformError) {
      try client.openInspection(permissions: options.inspectionPermissions)
    } catch {
      logUnseen(error.code)
    }
  }

  private mutating func logUnseen(_ number: Int32) {
    guard unsafe state.callbacks.log != nil, let path = unsafe state.inspectPath else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(MOSQ_LOG_WARNING, shim_line_unseen(buffer, size, state.id, path, number))
    }
  }
}
