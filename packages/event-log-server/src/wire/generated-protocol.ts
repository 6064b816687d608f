/**
 * The messages and services of EventStoreDB's protocol, generated code of its Node client. The files are CommonJS modules, so they
 * have only default exports.
 */
export { default as gossipServices } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
export { default as gossip } from '@eventstore/db-client/generated/gossip_pb.js'
export { default as monitoringServices } from '@eventstore/db-client/generated/monitoring_grpc_pb.js'
export { default as monitoring } from '@eventstore/db-client/generated/monitoring_pb.js'
export { default as operationsServices } from '@eventstore/db-client/generated/operations_grpc_pb.js'
export { default as operations } from '@eventstore/db-client/generated/operations_pb.js'
export { default as persistentServices } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
export { default as persistent } from '@eventstore/db-client/generated/persistent_pb.js'
export { default as featuresServices } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
export { default as features } from '@eventstore/db-client/generated/serverfeatures_pb.js'
export { default as shared } from '@eventstore/db-client/generated/shared_pb.js'
export { default as status } from '@eventstore/db-client/generated/status_pb.js'
export { default as streamsServices } from '@eventstore/db-client/generated/streams_grpc_pb.js'
export { default as streams } from '@eventstore/db-client/generated/streams_pb.js'
export { default as usersServices } from '@eventstore/db-client/generated/users_grpc_pb.js'
export { default as users } from '@eventstore/db-client/generated/users_pb.js'
export { default as protobufAny } from 'google-protobuf/google/protobuf/any_pb.js'
export { default as protobufEmpty } from 'google-protobuf/google/protobuf/empty_pb.js'
