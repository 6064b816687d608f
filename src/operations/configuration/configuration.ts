import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { StaticDecode } from '@sinclair/typebox'
import { defaultRules } from '../../commands/transfer/transfers.js'
import { TransformDecodeError, Type, Value } from '../../kernel/typebox.js'
import * as parse from './configuration-values.js'

/** The work of a node: HTTP for merchants and customers; read models and the expiry of deposits; callbacks. */
const roles = ['api', 'projections', 'callbacks'] as const
export type Role = (typeof roles)[number]
/** The roles whose work runs in a background thread. */
export type BackgroundRole = Exclude<Role, 'api'>

interface Details {
  /** The default as text, which `parse` receives; empty if omitted. */
  readonly default?: string
  /** The value may contain a secret: `<name>_FILE` can name a file to read it from, and no problem repeats it. */
  readonly secret?: true
  /** Another variable that requires this one. */
  readonly needed?: { readonly with: string; readonly problem: string }
}

/** `description` is Markdown; `parse` throws a Problem for an invalid value. */
function variable<Parsed>(description: string, parse: (text: string) => Parsed, details: Details = {}) {
  return Type.Transform(Type.String({ default: '', description, ...details }))
    .Decode(parse)
    .Encode(String)
}

const token = (neededWith: string): Details => ({
  secret: true,
  needed: { with: neededWith, problem: 'must be set: the service sends it as the bearer token' },
})

/** Every variable that the service reads. `npm run docs:configuration` generates docs/reference/configuration.md from it. */
export const environmentSchema = Type.Object({
  ROLES: variable(
    'The work of this node; `serve --roles` takes precedence. See [several nodes](../operating/several-nodes.md)',
    (text) => new Set(text.split(',').map((name) => parse.oneOf(roles)(name.trim()))),
    { default: roles.join() },
  ),
  HOST: variable('The address to listen on; `0.0.0.0` or `::` for all addresses of the machine', parse.host, {
    default: '127.0.0.1',
  }),
  PORT: variable(
    'The port to listen on, 0 to 65535; 0 for any free port, which the banner shows',
    parse.integer(0, 65_535),
    { default: '3000' },
  ),
  PUBLIC_URL: variable(
    'The URL that merchants and customers use, such as `https://pay.example.com`; links to payment pages start with it. Defaults to the address that the service listens on',
    parse.optional(parse.publicUrl),
  ),
  INSTALLATION_NAME: variable(
    'The name that distinguishes this installation from others: in authenticators, page titles, emails, the API documentation and the names of bank files. At most 64 characters. Defaults to the host of `PUBLIC_URL` with its port and path, such as `pay.example.com`',
    parse.optional(parse.installationName),
  ),
  EVENT_STORE_URL: variable(
    'The event log: `embedded:<directory>`, or an [EventStoreDB](eventstoredb.md): `esdb://<user>:<password>@<host>:2113`',
    parse.eventStore,
    { default: 'embedded:./data', secret: true },
  ),
  READ_MODEL_URL: variable(
    'The read models: `embedded:<directory>`, in the same directory or a different one, or a [MongoDB](mongodb.md): `mongodb://<host>/<database>`',
    parse.readModels,
    { default: 'embedded:./data', secret: true },
  ),
  KEY_STORE_URL: variable(
    "The customers' keys and the receipts, which no rebuild restores: `embedded:<directory>`, or a MongoDB as in `READ_MODEL_URL`. All nodes need the same one. Defaults to the MongoDB of the read models; without one, the keys are in the data directory, and the receipts are with the read models",
    parse.optional(parse.readModels),
    { secret: true },
  ),
  DATA_DIRECTORY: variable(
    'With a log on EventStoreDB: the directory for the files of this node, such as `sandbox.json` and a `master.key` that you provide. An embedded log has them in its own directory',
    (text) => resolve(text),
    { default: './data' },
  ),
  TRANSFERD_MASTER_KEY: variable(
    'The [master key](../operating/keys.md), which encrypts secrets in the log: 32 bytes as 64 hexadecimal digits or base64. Several keys are lines: the last one encrypts, and all decrypt. Defaults to the file `master.key` in the data directory',
    parse.optional(parse.masterKeys),
    { secret: true },
  ),
  TRANSFERD_MASTER_KEY_DIRECTORY: variable(
    'Instead of `TRANSFERD_MASTER_KEY`: a directory with one key per file. The key in the last file by name encrypts, and all decrypt',
    parse.optional(resolve),
  ),
  TRANSFERD_MASTER_KEY_COMMAND: variable(
    'Instead of both: a shell command that prints the key, or one key per line, within 30 s, for example from a key management service. It runs at each start, and its output is never logged',
    parse.optional(String),
  ),
  AUDIT_DIRECTORY: variable(
    'The directory of the [tree over the log](../operating/tamper-evidence.md), whose files any web server can publish. Defaults to `audit` in the data directory',
    (text) => (text === '' ? undefined : resolve(text)),
  ),
  AUDIT_GROUP_READABLE: variable(
    '`true` gives the group of `AUDIT_DIRECTORY` read access to new files of the tree, for a web server that [publishes](../operating/tamper-evidence.md#publish-the-tree) them',
    parse.oneOf(['true', 'false']),
    { default: 'false' },
  ),
  AUDIT_ORIGIN: variable(
    'The name of the tree in its checkpoints, such as `pay.example.com/log`; it takes effect when a tree [starts](../operating/tamper-evidence.md#the-start-of-the-tree). Defaults to a random name',
    parse.optional(parse.origin),
  ),
  AUDIT_COPY_TO: variable(
    'A second location of the tree, with the events, which a person who can change the first must not be able to change: a directory, or an `https` URL below which the service PUTs each file. A user and password in it are sent as `Authorization`',
    parse.optional(parse.copyTarget),
    { secret: true },
  ),
  AUDIT_WITNESSES: variable(
    'The witnesses that [cosign](https://c2sp.org/tlog-witness) its checkpoints: URL and verifier key separated by a space, witnesses separated by commas',
    parse.witnesses,
  ),
  TRUSTED_PROXIES: variable(
    'Addresses and CIDR ranges, separated by commas, whose `X-Forwarded-For` is trusted; none by default. More than a sixteenth of all IPv4 or IPv6 addresses is rejected, because then almost any caller could forge its address',
    parse.addressRanges(
      'trusts too many addresses, so almost any caller could forge its address: list only your proxies',
    ),
  ),
  MAX_CONNECTIONS: variable(
    'The limit of open connections; further connections are closed immediately',
    parse.integer(1, 1_000_000),
    { default: '10000' },
  ),
  MAX_CONNECTIONS_PER_ADDRESS: variable(
    'The limit of open connections per address (IPv6: per /64). It does not apply to trusted proxies; without `TRUSTED_PROXIES`, a proxy counts as one caller',
    parse.integer(1, 1_000_000),
    { default: '500' },
  ),
  LOG_LEVEL: variable(
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Log lines are JSON on stderr',
    parse.oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    { default: 'info' },
  ),
  CURRENCY: variable('The ISO 4217 code of the currency of all amounts: [below](#currency)', parse.currency, {
    default: 'TRY',
  }),
  PAYMENT_METHODS: variable(
    'The catalogue as JSON ([below](#payment-methods)). By default `1` Wallet, paid from a wallet, and `2` Bank transfer and `3` Card, both manual',
    parse.paymentMethods,
  ),
  SANDBOX: variable(
    '`auto`: the service offers a sandbox merchant until the log contains a live merchant. `off`: it never does',
    parse.oneOf(['auto', 'off']),
    { default: 'auto' },
  ),
  CALLBACK_TIMEOUT_MS: variable(
    "The time limit for the response of a merchant's endpoint to a callback, 100 to 120000",
    parse.integer(100, 120_000),
    { default: '15000' },
  ),
  CALLBACK_ALLOWED_NETWORKS: variable(
    'Addresses and CIDR ranges, separated by commas, that callbacks may go to in addition to [public addresses](../merchants/callbacks.md#your-url), for endpoints in your own network; none by default. Set it on all nodes',
    parse.addressRanges('allows callbacks to too many addresses: list only the networks of your endpoints'),
  ),
  COMPLETION_GUARD_FACTOR: variable(
    'A completion requires confirmation of an amount that is larger or smaller than the requested amount by more than this factor, 1 to 1000000. Set it on all nodes',
    parse.integer(1, 1_000_000),
    { default: String(defaultRules.completionGuardFactor) },
  ),
  CORRECTION_DAYS: variable(
    'How many days after its completion the amount of a transfer can be corrected, 0 to 365. Set it on all nodes',
    parse.integer(0, 365),
    { default: String(defaultRules.correctionDays) },
  ),
  BANK_STATEMENTS_DIRECTORY: variable(
    "A directory into which the bank's [files](../operating/bank-statements.md#a-watched-directory) are delivered, for example by SFTP or EBICS. Each one is imported and then moved to `imported` or `failed` in it. The node with the role `projections` reads it",
    parse.optional((text) => resolve(text)),
  ),
  WALLET_URL: variable(
    "A [wallet core](wallet-core.md) that keeps the customers' accounts: `https`, or `http` on this machine. Defaults to the built-in wallet",
    parse.optional(parse.secretsUrl),
  ),
  WALLET_TOKEN: variable(
    'The bearer token for the wallet core; required with `WALLET_URL`',
    parse.bearerToken,
    token('WALLET_URL'),
  ),
  WALLET_TIMEOUT_MS: variable(
    'The time limit for a response of the wallet core, 100 to 120000',
    parse.integer(100, 120_000),
    { default: '10000' },
  ),
  SMTP_URL: variable(
    "The mail server for the built-in wallet's email: `smtp://` or `smtps://`, with a user and password if the server requires them. See [messages](messages.md)",
    parse.optional(parse.smtpUrl),
    { secret: true },
  ),
  MAIL_FROM: variable(
    'The sender of that email, such as `Payments <no-reply@pay.example.com>`; required with `SMTP_URL`',
    parse.optional(parse.sender),
    { needed: { with: 'SMTP_URL', problem: parse.senderProblem } },
  ),
  SMS_URL: variable(
    "The gateway for the built-in wallet's text messages: `https`, or `http` on this machine. See [messages](messages.md)",
    parse.optional(parse.secretsUrl),
  ),
  SMS_TOKEN: variable('The bearer token for the gateway; required with `SMS_URL`', parse.bearerToken, token('SMS_URL')),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    "A collector that receives traces over OTLP/HTTP, such as `http://127.0.0.1:4318`; by default there are no traces. [OpenTelemetry's other variables](../operating/monitoring.md#traces) also apply",
    parse.optional(parse.collectorUrl),
  ),
  OTEL_SDK_DISABLED: variable('`true` turns traces off even if a collector is set', parse.oneOf(['true', 'false']), {
    default: 'false',
  }),
})

type Environment = { readonly [name: string]: string | undefined }
export type Configuration = ReturnType<typeof arrange>

/** The environment is invalid. `problems` contains every problem. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  constructor(readonly problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** Reads the configuration. An empty variable counts as unset. @throws ConfigurationError with all problems */
export function readConfiguration(environment: Environment): Configuration {
  const texts: { [name: string]: string } = {}
  const problems: string[] = []
  for (const [name, schema] of Object.entries(environmentSchema.properties)) {
    const details: Details = schema
    try {
      texts[name] = (details.secret && secretOfFile(environment, name)) || environment[name]?.trim() || schema.default
      if (texts[name] === '' && details.needed && texts[details.needed.with])
        throw new parse.Problem(details.needed.problem)
      Value.Decode(schema, texts[name])
    } catch (error) {
      const cause = error instanceof TransformDecodeError ? error.error : error
      if (!(cause instanceof parse.Problem)) throw cause
      problems.push(`${name} ${cause.message}`)
    }
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
  return arrange(Value.Decode(environmentSchema, texts))
}

/** Returns the content of the file that `<name>_FILE` names, or `undefined`. No problem quotes the content. @throws Problem */
function secretOfFile(environment: Environment, name: string): string | undefined {
  const path = environment[`${name}_FILE`]?.trim()
  if (!path) return undefined
  if (environment[name]?.trim()) throw new parse.Problem(`and ${name}_FILE are both set: remove one of them`)
  let content: string
  try {
    content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new parse.Problem(`cannot be read from the file ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
  if (content === '') throw new parse.Problem(`cannot be read from the file ${path}: it is empty`)
  return content
}

/** @throws ConfigurationError if several sources are configured */
function masterKeyOf(values: StaticDecode<typeof environmentSchema>) {
  const { TRANSFERD_MASTER_KEY: keys, TRANSFERD_MASTER_KEY_DIRECTORY: directory } = values
  const { TRANSFERD_MASTER_KEY_COMMAND: command } = values
  const sources = [
    keys && ({ from: 'environment', keys } as const),
    directory && ({ from: 'directory', directory } as const),
    command && ({ from: 'command', command } as const),
  ].filter((source) => source !== undefined && source !== '')
  if (sources.length > 1)
    throw new ConfigurationError([
      'TRANSFERD_MASTER_KEY, TRANSFERD_MASTER_KEY_DIRECTORY and TRANSFERD_MASTER_KEY_COMMAND: set only one of them',
    ])
  return sources[0] ?? ({ from: 'data directory' } as const)
}

function arrange(values: StaticDecode<typeof environmentSchema>) {
  const { EVENT_STORE_URL: eventStore, READ_MODEL_URL: readModels, WALLET_URL, SMTP_URL, MAIL_FROM, SMS_URL } = values
  /** The absolute path of the directory with the master key and sandbox.json, which is that of an embedded log. */
  const dataDirectory = eventStore.engine === 'embedded' ? eventStore.directory : values.DATA_DIRECTORY
  return {
    roles: values.ROLES as ReadonlySet<Role>,
    host: values.HOST,
    port: values.PORT,
    /** Without a trailing slash. `undefined` stands for the address that the service listens on. */
    publicUrl: values.PUBLIC_URL,
    /** `undefined` stands for the host, port and path of the URL. */
    installationName: values.INSTALLATION_NAME,
    eventStore,
    dataDirectory,
    readModels,
    /** The customers' keys. */
    keyStore:
      values.KEY_STORE_URL ??
      (readModels.engine === 'embedded' ? ({ engine: 'embedded', directory: dataDirectory } as const) : readModels),
    receipts: values.KEY_STORE_URL ?? readModels,
    audit: {
      directory: values.AUDIT_DIRECTORY ?? join(dataDirectory, 'audit'),
      isGroupReadable: values.AUDIT_GROUP_READABLE === 'true',
      origin: values.AUDIT_ORIGIN,
      copyTo: values.AUDIT_COPY_TO,
      witnesses: values.AUDIT_WITNESSES,
    },
    masterKey: masterKeyOf(values),
    trustedProxies: values.TRUSTED_PROXIES,
    maxConnections: values.MAX_CONNECTIONS,
    maxConnectionsPerAddress: values.MAX_CONNECTIONS_PER_ADDRESS,
    logLevel: values.LOG_LEVEL,
    currency: values.CURRENCY,
    paymentMethods: values.PAYMENT_METHODS,
    sandbox: values.SANDBOX,
    callbackTimeoutMs: values.CALLBACK_TIMEOUT_MS,
    callbackAllowedNetworks: values.CALLBACK_ALLOWED_NETWORKS,
    completionGuardFactor: values.COMPLETION_GUARD_FACTOR,
    correctionDays: values.CORRECTION_DAYS,
    /** An absolute path. */
    bankStatementsDirectory: values.BANK_STATEMENTS_DIRECTORY,
    traced: values.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined && values.OTEL_SDK_DISABLED === 'false',
    /** The `url` has no trailing slash. */
    wallet: WALLET_URL
      ? ({ engine: 'http', url: WALLET_URL, token: values.WALLET_TOKEN, timeoutMs: values.WALLET_TIMEOUT_MS } as const)
      : ({ engine: 'built-in' } as const),
    /** How the built-in wallet reaches customers. If `undefined`, it cannot, except through the outbox of the sandbox. */
    messages: {
      email: SMTP_URL && MAIL_FROM ? { url: SMTP_URL, from: MAIL_FROM } : undefined,
      sms: SMS_URL ? { url: SMS_URL, token: values.SMS_TOKEN } : undefined,
    },
  }
}
