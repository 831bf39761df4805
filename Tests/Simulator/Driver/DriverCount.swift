/// Of drivers.
enum DriverCount: Int, CountKind {
  // What there was to do.
  case message, burst, submitted, request, turn
  case attempt, connection, redirected, backedOff, nextServer, raced, fallback
  // What went wrong.
  case cut, deadLink, outage, restart, forgotten, stale, stall, refused, noName, clockStep
  // How it ended.
  case endClosed, endNetwork, endTimeout, endKeepAlive, endRefused, endRequested, endServerClosed, endResolve
  case endAnswer, endWrite, endWithheld
  case delivered, sessionLost, expired, reply, timedOut, again
  case blocked, flooded, wokenUp, left
}
