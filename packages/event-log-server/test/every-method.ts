import type { ServiceDefinition } from '@grpc/grpc-js'
import type { Message } from 'google-protobuf'
import {
  featuresServices,
  gossipServices,
  monitoring,
  monitoringServices,
  operations,
  operationsServices,
  persistent,
  persistentServices,
  protobufEmpty,
  shared,
  streams,
  streamsServices,
  users,
  usersServices,
} from '../src/wire/generated-protocol.js'

/** All services of the server, as defined in the official client's generated code. */
const services: readonly ServiceDefinition[] = [
  streamsServices.StreamsService,
  persistentServices.PersistentSubscriptionsService,
  usersServices.UsersService,
  operationsServices.OperationsService,
  gossipServices.GossipService,
  featuresServices.ServerFeaturesService,
  monitoringServices.MonitoringService,
]

export const paths = services.flatMap((service) => Object.values(service)).map(({ path }) => path)

interface Method {
  /** A valid request. */
  readonly request: Message
  /** The required access. Calls to persistent subscriptions need write access, because they change the log. */
  readonly needs: 'nothing' | 'read' | 'write'
}

const empty = () => new shared.Empty()
const stream = () => new shared.StreamIdentifier().setStreamName(Buffer.from('stream'))
const id = () => new shared.UUID().setString('8f6f4b0c-6f0e-4b67-9d21-5f4a3a1de1c0')

interface Metadata {
  set(name: string, value: string): Metadata
}

function proposed<M extends { setId(id: unknown): M; getMetadataMap(): Metadata }>(message: M): M {
  message.getMetadataMap().set('type', 'T').set('content-type', 'application/json')
  return message.setId(id())
}

function readRequest(): Message {
  const options = new streams.ReadReq.Options()
  options.setStream(new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(stream()).setStart(empty()))
  options.setCount('1').setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(empty()))
  return new streams.ReadReq().setOptions(options.setNoFilter(empty()))
}

function batchAppendRequest(): Message {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(stream())
  options.setAny(new protobufEmpty.Empty())
  const message = proposed(new streams.BatchAppendReq.ProposedMessage())
  const request = new streams.BatchAppendReq().setCorrelationId(id()).setOptions(options).setIsFinal(true)
  return request.setProposedMessagesList([message])
}

const group = <
  Options extends { setStreamIdentifier(identifier: unknown): Options; setGroupName(name: string): Options },
>(
  options: Options,
) => options.setStreamIdentifier(stream()).setGroupName('group')

function settings<S extends { setReadBatchSize(n: number): S; setHistoryBufferSize(n: number): S }>(options: S): S {
  return options.setReadBatchSize(20).setHistoryBufferSize(500)
}

function user<Options extends { setLoginName(name: string): Options }>(options: Options): Options {
  return options.setLoginName('clerk')
}

const write = (request: Message): Method => ({ request, needs: 'write' })
const read = (request: Message): Method => ({ request, needs: 'read' })
const open = (request: Message): Method => ({ request, needs: 'nothing' })

const client = '/event_store.client'

/** The methods with a request, by path. */
export const methods: Readonly<Record<string, Method>> = {
  [`${client}.streams.Streams/Read`]: read(readRequest()),
  [`${client}.streams.Streams/Append`]: write(
    new streams.AppendReq().setOptions(new streams.AppendReq.Options().setStreamIdentifier(stream()).setAny(empty())),
  ),
  [`${client}.streams.Streams/BatchAppend`]: write(batchAppendRequest()),
  [`${client}.streams.Streams/Delete`]: write(
    new streams.DeleteReq().setOptions(new streams.DeleteReq.Options().setStreamIdentifier(stream()).setAny(empty())),
  ),
  [`${client}.streams.Streams/Tombstone`]: write(
    new streams.TombstoneReq().setOptions(
      new streams.TombstoneReq.Options().setStreamIdentifier(stream()).setAny(empty()),
    ),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/Create`]: write(
    new persistent.CreateReq().setOptions(
      group(new persistent.CreateReq.Options()).setSettings(settings(new persistent.CreateReq.Settings())),
    ),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/Update`]: write(
    new persistent.UpdateReq().setOptions(
      group(new persistent.UpdateReq.Options()).setSettings(settings(new persistent.UpdateReq.Settings())),
    ),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/Delete`]: write(
    new persistent.DeleteReq().setOptions(group(new persistent.DeleteReq.Options())),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/Read`]: write(
    new persistent.ReadReq().setOptions(group(new persistent.ReadReq.Options()).setBufferSize(1)),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/GetInfo`]: write(
    new persistent.GetInfoReq().setOptions(group(new persistent.GetInfoReq.Options())),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/ReplayParked`]: write(
    new persistent.ReplayParkedReq().setOptions(group(new persistent.ReplayParkedReq.Options())),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/List`]: write(
    new persistent.ListReq().setOptions(new persistent.ListReq.Options().setListAllSubscriptions(empty())),
  ),
  [`${client}.persistent_subscriptions.PersistentSubscriptions/RestartSubsystem`]: write(empty()),
  [`${client}.users.Users/Create`]: write(
    new users.CreateReq().setOptions(user(new users.CreateReq.Options()).setPassword('p')),
  ),
  [`${client}.users.Users/Update`]: write(new users.UpdateReq().setOptions(user(new users.UpdateReq.Options()))),
  [`${client}.users.Users/Delete`]: write(new users.DeleteReq().setOptions(user(new users.DeleteReq.Options()))),
  [`${client}.users.Users/Disable`]: write(new users.DisableReq().setOptions(user(new users.DisableReq.Options()))),
  [`${client}.users.Users/Enable`]: write(new users.EnableReq().setOptions(user(new users.EnableReq.Options()))),
  [`${client}.users.Users/Details`]: read(new users.DetailsReq().setOptions(user(new users.DetailsReq.Options()))),
  [`${client}.users.Users/ChangePassword`]: write(
    new users.ChangePasswordReq().setOptions(user(new users.ChangePasswordReq.Options()).setNewPassword('p')),
  ),
  [`${client}.users.Users/ResetPassword`]: write(
    new users.ResetPasswordReq().setOptions(user(new users.ResetPasswordReq.Options()).setNewPassword('p')),
  ),
  [`${client}.operations.Operations/StartScavenge`]: read(
    new operations.StartScavengeReq().setOptions(new operations.StartScavengeReq.Options()),
  ),
  [`${client}.operations.Operations/StopScavenge`]: read(
    new operations.StopScavengeReq().setOptions(new operations.StopScavengeReq.Options()),
  ),
  [`${client}.operations.Operations/Shutdown`]: read(empty()),
  [`${client}.operations.Operations/MergeIndexes`]: read(empty()),
  [`${client}.operations.Operations/ResignNode`]: read(empty()),
  [`${client}.operations.Operations/SetNodePriority`]: read(new operations.SetNodePriorityReq().setPriority(1)),
  [`${client}.operations.Operations/RestartPersistentSubscriptions`]: write(empty()),
  // Clients call these before they know the server to which they send credentials.
  [`${client}.gossip.Gossip/Read`]: open(empty()),
  [`${client}.server_features.ServerFeatures/GetSupportedMethods`]: open(empty()),
  [`${client}.monitoring.Monitoring/Stats`]: read(new monitoring.StatsReq().setRefreshTimePeriodInMs('1000')),
}
