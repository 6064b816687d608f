import { lookup } from 'node:dns/promises'
import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip, { type ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { Metadata } from '@grpc/grpc-js'
import { type ConnectionTarget, channelCredentials, type Endpoint, isSame, uriOf } from './eventstoredb-url.js'

const { LEADER, FOLLOWER, READONLYREPLICA, PREREADONLYREPLICA, READONLYLEADERLESS } = gossip.MemberInfo.VNodeState
const readOnly = [READONLYREPLICA, PREREADONLYREPLICA, READONLYLEADERLESS]
const any = [LEADER, FOLLOWER, ...readOnly]
/** The states of the nodes to connect to. Nothing replaces the leader: only the leader serves persistent subscriptions. */
const states = { leader: [[LEADER]], follower: [[FOLLOWER], any], read_only_replica: [readOnly, any], random: [any] }

const roundEveryMs = 100
/** The limit of a request to one node. It delays no other request, because the rounds do not wait for it. */
const responseWithinMs = 1_000

interface Search {
  readonly signal: AbortSignal
  /** The endpoint that has just failed. A node whose information is out of date still names it. */
  readonly failed: Endpoint | undefined
  /**
   * Whether the endpoint is lost: any other is then a result, and so is the same one if every node has responded or failed and none has named
   * another. Otherwise only a leader is a result that at least as many nodes name, because one node may have old information.
   */
  readonly isLost: boolean
  readonly onFailure?: (error: Error) => void
}

/**
 * Asks all nodes of the URL for the members of their cluster, every 100 ms, until one names a node to connect to. Resolves to `undefined`
 * if the signal aborts first.
 */
export async function findNode(target: ConnectionTarget, search: Search): Promise<Endpoint | undefined> {
  const { signal, failed, isLost, onFailure } = search
  const [{ address: name, port }] = target.endpoints
  // A certificate is valid for the name of the cluster, not for its addresses.
  const options = {
    'grpc.initial_reconnect_backoff_ms': roundEveryMs,
    'grpc.max_reconnect_backoff_ms': roundEveryMs,
    ...(target.kind === 'discover' && target.tls && { 'grpc.ssl_target_name_override': name }),
  }
  const clients = new Map<string, InstanceType<typeof gossipServices.GossipClient>>()
  let endpoints: readonly Endpoint[] = target.kind === 'discover' ? [] : target.endpoints
  let resolving: Promise<void> | undefined
  /** The nodes that each node of the URL has named last. */
  const named = new Map<string, readonly Endpoint[]>()
  const votes = (endpoint: Endpoint | undefined) =>
    [...named.values()].filter(([node]) => node && isSame(node, endpoint)).length
  let hasAskedAll = false
  const resolveName = async () => {
    try {
      endpoints = (await lookup(name, { all: true })).map(({ address }) => ({ address, port }))
    } catch (error) {
      onFailure?.(error as Error)
    }
    resolving = undefined
  }
  const ask = (endpoint: Endpoint, found: (node: Endpoint) => void) =>
    new Promise<void>((done) => {
      const uri = uriOf(endpoint)
      const client = clients.get(uri) ?? new gossipServices.GossipClient(uri, channelCredentials(target), options)
      clients.set(uri, client)
      const limits = { deadline: Date.now() + responseWithinMs }
      client.read(new shared.Empty(), new Metadata(), limits, (error, cluster) => {
        const nodes = error ? [] : nodesOf(cluster, states[target.nodePreference])
        named.set(uri, nodes)
        const others = nodes.filter((node) => !isSame(node, failed))
        const [other] = others.filter((node) => isLost || (hasAskedAll && votes(node) >= votes(failed)))
        const node = other ?? (isLost && hasAskedAll ? nodes[0] : undefined)
        if (node) found(node)
        else onFailure?.(error ?? new Error('the cluster has no leader'))
        done()
      })
    })
  const round = async (found: (node: Endpoint) => void) => {
    if (target.kind === 'discover') resolving ??= resolveName()
    // A name server that does not respond must not delay the rounds.
    if (endpoints.length === 0) await resolving
    if (signal.aborted) return
    await Promise.all(endpoints.map((endpoint) => ask(endpoint, found)))
    hasAskedAll ||= endpoints.length > 0
  }
  let rounds: NodeJS.Timeout | undefined
  const result = await new Promise<Endpoint | undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
    rounds = setInterval(() => round(resolve), roundEveryMs)
    void round(resolve)
  })
  clearInterval(rounds)
  for (const client of clients.values()) client.close()
  return result
}

/** Returns the preferred nodes, starting with a random one. */
function nodesOf(cluster: ClusterInfo, preferred: readonly (readonly number[])[]): readonly Endpoint[] {
  const alive = cluster.getMembersList().filter((member) => member.getIsAlive())
  const wanted = preferred.map((group) => alive.filter((member) => group.includes(member.getState())))
  const found = (wanted.find((members) => members.length > 0) ?? []).flatMap((member) => member.getHttpEndPoint() ?? [])
  const start = Math.floor(Math.random() * found.length)
  return [...found.slice(start), ...found.slice(0, start)].map((endpoint) => {
    return { address: endpoint.getAddress(), port: endpoint.getPort() }
  })
}
