import { existsSync, readFileSync } from 'node:fs'
import { credentials } from '@grpc/grpc-js'

/** The target of a URL such as `esdb://user:password@host:2113?tls=true`. It may hold a password: never log it. */
export type ConnectionTarget = ReturnType<typeof parseConnectionUrl>

export interface Endpoint {
  /** A name or an IP address. An IPv6 address may have brackets. */
  readonly address: string
  readonly port: number
}

const defaultPort = 2113
const parameters = [
  ...['tls', 'tlsVerifyCert', 'tlsCAFile', 'userCertFile', 'userKeyFile'],
  ...['nodePreference', 'connectionName'],
]
const preferences = ['leader', 'follower', 'random', 'read_only_replica'] as const

/**
 * Parses a URL. The client's own parser repeats the URL with the password in its errors and debug lines, and ignores unknown parameters.
 * @throws TypeError whose message is the end of a sentence without any part of the URL
 */
export function parseConnectionUrl(url: string) {
  const [, discover, user, hosts, query = ''] =
    /^esdb(\+discover)?:\/\/(?:([^@/?]*)@)?([^@/?\s]+)\/?(?:\?(\S*))?$/.exec(url.trim()) ?? []
  if (hosts === undefined) throw new TypeError('must name a server, such as esdb://127.0.0.1:2113?tls=false')
  const [first = '', ...others] = hosts.split(',')
  const endpoints = [parseEndpoint(first), ...others.map(parseEndpoint)] as const
  if (discover && endpoints.length > 1) throw new TypeError('with esdb+discover:// must name one host')
  const values = parseQuery(query)
  const tls = parseBoolean('tls', values.get('tls') ?? 'true')
  if (!parseBoolean('tlsVerifyCert', values.get('tlsVerifyCert') ?? 'true')) {
    throw new TypeError(
      'cannot have tlsVerifyCert=false: name the authority that signed the certificate with tlsCAFile',
    )
  }
  const target = {
    /** One node, several nodes that know the cluster, or a DNS name of the cluster. */
    kind: discover ? ('discover' as const) : endpoints.length > 1 ? ('cluster' as const) : ('node' as const),
    endpoints,
    // Without TLS they are sent to loopback addresses only: anyone on a network could read them.
    credentials: parseCredentials(user),
    tls,
    tlsCaFile: parseFile('tlsCAFile', values),
    userCertFile: parseFile('userCertFile', values),
    userKeyFile: parseFile('userKeyFile', values),
    nodePreference: parsePreference(values.get('nodePreference')),
    connectionName: values.get('connectionName'),
  }
  if ((target.userCertFile === undefined) !== (target.userKeyFile === undefined))
    throw new TypeError('must have userCertFile and userKeyFile together')
  return target
}

export function uriOf({ address, port }: Endpoint): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]:${port}` : `${address}:${port}`
}

export function isSame(one: Endpoint, other: Endpoint | undefined): boolean {
  return other !== undefined && uriOf(one) === uriOf(other)
}

/** Returns whether the endpoint is a loopback address, which only this machine reaches. */
export function isOfThisMachine({ address }: Endpoint): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(address)
}

export function channelCredentials({ tls, tlsCaFile, userKeyFile, userCertFile }: ConnectionTarget) {
  const [authority, key, certificate] = [tlsCaFile, userKeyFile, userCertFile].map((path) =>
    path === undefined ? undefined : readFileSync(path),
  )
  return tls ? credentials.createSsl(authority, key, certificate) : credentials.createInsecure()
}

function parseEndpoint(text: string): Endpoint {
  const [, address, digits = String(defaultPort)] = /^(\[[0-9a-fA-F:.]+\]|[^[\]:]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = Number(digits)
  if (address === undefined || port < 1 || port > 65_535) throw new TypeError('must name hosts as host:port')
  return { address, port }
}

function parseCredentials(user: string | undefined) {
  if (user === undefined) return undefined
  const [, username, password] = /^([^:]+):(.+)$/.exec(user) ?? []
  try {
    if (username && password) return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    // Reported below, without any part of it.
  }
  throw new TypeError('must have credentials as user:password@, with %XX for special characters')
}

function parseQuery(query: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    const known = parameters.find((parameter) => parameter.toLowerCase() === name.toLowerCase())
    // The message does not repeat the name: after an unescaped question mark in a password, it is part of the password.
    if (known === undefined) throw new TypeError(`has an unknown parameter; known are ${parameters.join(', ')}`)
    values.set(known, value)
  }
  return values
}

function parseBoolean(name: string, value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new TypeError(`must have ${name} as true or false`)
  return value === 'true'
}

function parseFile(name: string, values: ReadonlyMap<string, string>): string | undefined {
  const path = values.get(name)
  if (path !== undefined && !existsSync(path)) throw new TypeError(`names a missing ${name}`)
  return path
}

function parsePreference(value = 'leader') {
  const found = preferences.find((name) => name.replaceAll('_', '') === value.toLowerCase().replaceAll('_', ''))
  if (found === undefined) throw new TypeError(`must have nodePreference as one of ${preferences.join(', ')}`)
  return found
}
