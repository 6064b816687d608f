/**
 * The messages and services of EventStoreDB's protocol, generated code of its Node client. The files are CommonJS modules, so they
 * have only default exports.
 */

import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import monitoringServices from '@eventstore/db-client/generated/monitoring_grpc_pb.js'
import monitoring from '@eventstore/db-client/generated/monitoring_pb.js'
import operationsServices from '@eventstore/db-client/generated/operations_grpc_pb.js'
import operations from '@eventstore/db-client/generated/operations_pb.js'
import persistentServices from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import featuresServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import status from '@eventstore/db-client/generated/status_pb.js'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import usersServices from '@eventstore/db-client/generated/users_grpc_pb.js'
import users from '@eventstore/db-client/generated/users_pb.js'
import protobufAny from 'google-protobuf/google/protobuf/any_pb.js'
import protobufEmpty from 'google-protobuf/google/protobuf/empty_pb.js'

export {
  features,
  featuresServices,
  gossip,
  gossipServices,
  monitoring,
  monitoringServices,
  operations,
  operationsServices,
  persistent,
  persistentServices,
  protobufAny,
  protobufEmpty,
  shared,
  status,
  streams,
  streamsServices,
  users,
  usersServices,
}
