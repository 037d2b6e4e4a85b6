/**
 * The wire contract between Gantry's services. `npm run generate` writes `gen/` from `gantry/v1/*.proto`:
 *
 * - `object.proto`: reads, watches and writes of objects at the apiserver, with leaders' fences
 * - `agent.proto`: what API servers ask of an agent: logs, usage, and streams into containers and pods
 * - `health.proto`: gRPC's standard health service
 * - `introspection.proto`: what a process says of itself
 *
 * By hand: `serviceDefinition` converts a generated service for grpc-js; large lists are encoded without copies.
 * Used by packages/client and packages/service and by all services. Fields are only added, never renumbered.
 */
export {
  AgentService,
  type ContainerLogsRequest,
  ContainerLogsRequestSchema,
  type ContainerStreams,
  ContainerStreamsSchema,
  type LogChunk,
  LogChunkSchema,
  type NodeUsageReply,
  NodeUsageReplySchema,
  type NodeUsageRequest,
  NodeUsageRequestSchema,
  PodPortsSchema,
  type StreamStart,
  StreamStartSchema,
  type StreamTicket,
  StreamTicketSchema,
} from './gen/gantry/v1/agent_pb.ts';
export {
  Health,
  type HealthCheckRequest,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
} from './gen/gantry/v1/health_pb.ts';
export {
  IntrospectionService,
  type ReportReply,
  ReportReplySchema,
  type ReportRequest,
  ReportRequestSchema,
} from './gen/gantry/v1/introspection_pb.ts';
export {
  type BatchReply,
  BatchReplySchema,
  type BatchReply_Result,
  BatchReply_ResultSchema,
  type BatchRequest,
  BatchRequestSchema,
  type Fence,
  FenceSchema,
  type GetRequest,
  GetRequestSchema,
  type ListReply,
  ListReplySchema,
  type ListRequest,
  ListRequestSchema,
  type ObjectReply,
  ObjectReplySchema,
  ObjectService,
  type ResourceRef,
  type WatchBatch,
  WatchBatchSchema,
  type WatchEvent,
  WatchEventSchema,
  type WatchRequest,
  WatchRequestSchema,
  type Write,
  type WriteRequest,
  WriteRequestSchema,
  WriteSchema,
} from './gen/gantry/v1/object_pb.ts';
export { type MethodDefinition, serviceDefinition } from './service-definition.ts';
