/**
 * The generated messages and services of the protocol, which the client contains. They are CommonJS modules, so this file imports their
 * default exports.
 */

import persistentServices from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import protobufEmpty from 'google-protobuf/google/protobuf/empty_pb.js'
import protobufTimestamp from 'google-protobuf/google/protobuf/timestamp_pb.js'

export { persistent, persistentServices, protobufEmpty, protobufTimestamp, shared, streams, streamsServices }
