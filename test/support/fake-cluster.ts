import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import featuresServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type shared from '@eventstore/db-client/generated/shared_pb.js'
import streamsServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { type handleUnaryCall, Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js'
import { startTestEventsServer } from './events-server.js'

const { LEADER, FOLLOWER, UNKNOWN } = gossip.MemberInfo.VNodeState

/** How a node treats connections. A node that refuses them ends existing ones too. A silent one accepts them and never responds. */
type Behaviour = 'serves' | 'refuses' | 'is silent' | 'is not the leader'

/**
 * A node of the cluster. Its gossip has a separate port, so that the test controls it separately. Nodes are proxies to one log, because
 * replication is not tested.
 */
class FakeNode {
  /** The number of the leader that the node names, `undefined` if it knows none, or 'no response'. */
  leader: number | undefined | 'no response' = 0
  gossipRequests = 0
  #behaviour: Behaviour = 'serves'
  readonly #sockets = new Set<Socket>()
  readonly #held: (() => void)[] = []

  private constructor(
    readonly port: number,
    readonly gossipPort: number,
    private readonly close: () => Promise<void>,
  ) {}

  static async start(
    gossipAt: string,
    targets: { readonly leader: number; readonly follower: number },
    members: () => readonly FakeNode[],
  ) {
    const listener = createServer((near) => node.#accept(near, targets))
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const read: handleUnaryCall<InstanceType<typeof shared.Empty>, InstanceType<typeof gossip.ClusterInfo>> = (
      _call,
      respond,
    ) => {
      const { leader } = node
      node.gossipRequests++
      const answer = () => respond(null, clusterInfo(members(), leader === 'no response' ? undefined : leader))
      if (leader === 'no response') node.#held.push(answer)
      else answer()
    }
    const gossiping = new Server()
    gossiping.addService(gossipServices.GossipService, { read })
    const gossipPort = await bind(gossiping, gossipAt)
    const node: FakeNode = new FakeNode((listener.address() as AddressInfo).port, gossipPort, async () => {
      gossiping.forceShutdown()
      listener.close()
      for (const socket of node.#sockets) socket.destroy()
    })
    return node
  }

  set behaviour(behaviour: Behaviour) {
    const previous = this.#behaviour
    this.#behaviour = behaviour
    for (const socket of this.#sockets) {
      if (behaviour === 'is silent') socket.pause()
      else if (behaviour === 'serves' && previous === 'is silent') socket.resume()
      else socket.destroy()
    }
  }

  stop(): Promise<void> {
    return this.close()
  }

  #accept(near: Socket, targets: { readonly leader: number; readonly follower: number }): void {
    if (this.#behaviour === 'refuses') {
      near.destroy()
      return
    }
    const far = connect(this.#behaviour === 'is not the leader' ? targets.follower : targets.leader, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      if (this.#behaviour === 'is silent') one.pause()
    }
  }
}

export interface FakeCluster {
  readonly nodes: readonly FakeNode[]
  /** The URL with the credentials of the log, which names the gossip of every node. */
  readonly url: string
  /** All nodes name this leader, or none. */
  elect(leader: number | undefined): void
  stop(): Promise<void>
}

/** The addresses of gossip, which has the same port on all of them, like the nodes of a DNS name. */
export const fakeAddresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3']

/** Starts three nodes, of which the first is the leader. */
export async function startFakeCluster(directory?: string): Promise<FakeCluster> {
  const log = await startTestEventsServer(directory)
  const follower = notLeader()
  const targets = { leader: Number(new URL(log.url).port), follower: await bind(follower, '127.0.0.1:0') }
  const nodes: FakeNode[] = []
  for (const address of fakeAddresses)
    nodes.push(await FakeNode.start(`${address}:${nodes[0]?.gossipPort ?? 0}`, targets, () => nodes))
  const seeds = fakeAddresses.map((address) => `${address}:${nodes[0]?.gossipPort}`).join(',')
  return {
    nodes,
    url: log.url.replace(/127\.0\.0\.1:\d+/, seeds),
    elect(leader) {
      for (const node of nodes) node.leader = leader
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
      follower.forceShutdown()
      await log.stop()
    },
  }
}

function clusterInfo(nodes: readonly FakeNode[], leader: number | undefined) {
  const members = nodes.map(({ port }, n) => {
    const state = leader === undefined ? UNKNOWN : n === leader ? LEADER : FOLLOWER
    const endpoint = new gossip.EndPoint().setAddress('127.0.0.1').setPort(port)
    return new gossip.MemberInfo().setState(state).setIsAlive(true).setHttpEndPoint(endpoint)
  })
  return new gossip.ClusterInfo().setMembersList(members)
}

/** A server that rejects every call on streams as EventStoreDB does if the leader is required and the node is another one. */
function notLeader(): Server {
  const server = new Server()
  const metadata = new Metadata()
  metadata.set('exception', 'not-leader')
  metadata.set('leader-endpoint-host', '127.0.0.1')
  metadata.set('leader-endpoint-port', '1')
  const refuse = (call: { emit(event: 'error', error: object): unknown }) =>
    call.emit('error', { code: status.NOT_FOUND, details: 'Leader info available', metadata })
  const unary: handleUnaryCall<unknown, never> = (_call, respond) =>
    respond({ code: status.NOT_FOUND, details: 'Leader info available', metadata })
  server.addService(streamsServices.StreamsService, {
    ...{ read: refuse, batchAppend: refuse, append: unary, delete: unary, tombstone: unary },
  })
  server.addService(featuresServices.ServerFeaturesService, {
    getSupportedMethods: (_call: unknown, respond: (error: null, found: object) => void) =>
      respond(null, new features.SupportedMethods().setEventStoreServerVersion('23.10.6')),
  })
  return server
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    )
  })
}
