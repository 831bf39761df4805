import Driver
import Inspector
import MQTTSession
public import Storage
import Transports

/// Where a client's parts lie in the caller's block.
public struct ClientPlan: ~Copyable {
  let session: SessionPlan
  public let submissions: MPSCQueue<Submission>.Plan
  let driver: DriverPlan
  let layers: LayerPlan
  let trace: ArenaSlice<PacketTrace>
  let traceBytes: ArenaSlice<UInt8>
  let inspection: ArenaSlice<Inspection>
  let inspectionPath: ArenaSlice<UInt8>
  let inspectionBytes: ArenaSlice<UInt8>

  @inline(never)
  public init(_ options: borrowing ClientOptions, in plan: inout ArenaLayout) {
    // What every client uses comes first, and the large buffers last: those that are not used take no memory, and the
    // others share its pages.
    driver = DriverPlan(options.driver, in: &plan)
    session = SessionPlan(options.session, in: &plan)
    layers = LayerPlan(options.layers, in: &plan)
    submissions = MPSCQueue.Plan(slots: options.submitMessages, slotSize: options.submitBytes, in: &plan)
    trace = plan.reserve(min(options.traceBytes, 1), of: PacketTrace.self)
    traceBytes = plan.reserve(options.traceBytes, of: UInt8.self)
    let isInspected = options.inspectionBytes > 0
    inspection = plan.reserve(isInspected ? 1 : 0, of: Inspection.self)
    inspectionPath = plan.reserve(isInspected ? options.inspectionPath.count &+ 1 : 0, of: UInt8.self)
    inspectionBytes = plan.reserve(options.inspectionBytes, of: UInt8.self)
  }
}
