import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { StaticDecode } from '@sinclair/typebox'
import { defaultCompletionGuardFactor } from '../../commands/transfer/transfers.js'
import { TransformDecodeError, Type, Value } from '../../kernel/typebox.js'
import * as parse from './configuration-values.js'

/** What a node does: answers merchants and customers; keeps the read models and lets deposits expire; sends callbacks. */
export const roles = ['api', 'projections', 'callbacks'] as const
export type Role = (typeof roles)[number]

interface Details {
  /** As text; empty when absent, which `parse` then gets. */
  readonly default?: string
  /** Holds a secret, or may: `<name>_FILE` names a file to read it from instead. No problem repeats its value. */
  readonly secret?: true
  /** It must not be empty when another variable is set. */
  readonly needed?: { readonly with: string; readonly problem: string }
}

/** `description` is Markdown; `parse` throws a Problem at what it does not take. */
function variable<Parsed>(description: string, parse: (text: string) => Parsed, details: Details = {}) {
  return Type.Transform(Type.String({ default: '', description, ...details }))
    .Decode(parse)
    .Encode(String)
}

const token = (neededWith: string): Details => ({
  secret: true,
  needed: { with: neededWith, problem: 'must be set: it is sent as the bearer token' },
})

/** Every variable that is read. The table in docs/reference/configuration.md is made of it (npm run docs:configuration). */
export const environmentSchema = Type.Object({
  ROLES: variable(
    'What this node does; `serve --roles` comes before it. See [several nodes](../operating/several-nodes.md)',
    (text) => new Set(text.split(',').map((name) => parse.oneOf(roles)(name.trim()))),
    { default: roles.join() },
  ),
  HOST: variable("Address to listen on. `0.0.0.0` or `::` for all of the machine's", parse.host, {
    default: '127.0.0.1',
  }),
  PORT: variable(
    'Port to listen on, 0 to 65535; 0 takes any free one, which the banner names',
    parse.integer(0, 65_535),
    { default: '3000' },
  ),
  PUBLIC_URL: variable(
    "What merchants and customers reach the service under, such as `https://pay.example.com`: the payment pages' links are made of it. The address listened on when absent",
    parse.optional(parse.publicUrl),
  ),
  EVENT_STORE_URL: variable(
    'Where the event log is: `embedded:<directory>`, or an [EventStoreDB](eventstoredb.md): `esdb://<user>:<password>@<host>:2113`',
    parse.eventStore,
    { default: 'embedded:./data', secret: true },
  ),
  READ_MODEL_URL: variable(
    'Where the read models are: `embedded:<directory>`, the same one or another, or a [MongoDB](mongodb.md): `mongodb://<host>/<database>`',
    parse.readModels,
    { default: 'embedded:./data', secret: true },
  ),
  DATA_DIRECTORY: variable(
    'With a log on EventStoreDB: the directory for the files of this node, `sandbox.json` and a `master.key` you provide. With an embedded log they are in its directory',
    (text) => resolve(text),
    { default: './data' },
  ),
  TRANSFERD_MASTER_KEY: variable(
    "32 bytes, as 64 hexadecimal digits or as base64: seals merchants' secrets in the log. Several are lines: the last one seals, all open. See [keys](../operating/keys.md). The file `master.key` in the data directory when absent",
    parse.optional(parse.masterKeys),
    { secret: true },
  ),
  TRANSFERD_MASTER_KEY_DIRECTORY: variable(
    'Instead of `TRANSFERD_MASTER_KEY`: a directory with a key in each file. The one whose name comes last seals, all open',
    parse.optional(resolve),
  ),
  TRANSFERD_MASTER_KEY_COMMAND: variable(
    'Instead of both: a command of the shell that prints the key, or one a line, within 30 s. For a key management service; run at each start, its output is never logged',
    parse.optional(String),
  ),
  AUDIT_DIRECTORY: variable(
    'Where the [tree over the log](../operating/tamper-evidence.md) is kept: files that any web server can publish. `audit` in the data directory when absent',
    (text) => (text === '' ? undefined : resolve(text)),
  ),
  AUDIT_COPY_TO: variable(
    'A second place for it, out of reach for whoever can change the first: a directory, or an `https` URL below which each file is PUT; a user and a password in it are sent as `Authorization`',
    parse.optional(parse.copyTarget),
    { secret: true },
  ),
  AUDIT_WITNESSES: variable(
    'Who [cosigns](https://c2sp.org/tlog-witness) its checkpoints: URL and verifier key with a space between, separated by commas',
    parse.witnesses,
  ),
  TRUSTED_PROXIES: variable(
    "Addresses and CIDR ranges, separated by commas, whose `X-Forwarded-For` is believed. Nobody's when absent. More than a sixteenth of all IPv4 or IPv6 addresses is refused: anybody could say then who calls",
    parse.proxyRanges,
  ),
  MAX_CONNECTIONS: variable(
    'Connections open at once; one more is closed as it comes in',
    parse.integer(1, 1_000_000),
    { default: '10000' },
  ),
  MAX_CONNECTIONS_PER_ADDRESS: variable(
    'Of these, from one address (IPv6: one /64). Trusted proxies have no such bound: without `TRUSTED_PROXIES` a proxy is one caller',
    parse.integer(1, 1_000_000),
    { default: '500' },
  ),
  LOG_LEVEL: variable(
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; log lines are JSON on stderr',
    parse.oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    { default: 'info' },
  ),
  CURRENCY: variable('What all amounts are in, by ISO 4217: [below](#currency)', parse.currency, { default: 'TRY' }),
  PAYMENT_METHODS: variable(
    'The catalogue, as JSON (see below). `1` Wallet, paid by a wallet, `2` Bank transfer and `3` Card, both manual, when absent',
    parse.paymentMethods,
  ),
  SANDBOX: variable(
    '`auto`: a sandbox merchant is offered as long as the log holds no live one. `off`: never',
    parse.oneOf(['auto', 'off']),
    { default: 'auto' },
  ),
  CALLBACK_TIMEOUT_MS: variable(
    "How long a merchant's endpoint may take to answer a callback, 100 to 120000",
    parse.integer(100, 120_000),
    { default: '15000' },
  ),
  COMPLETION_GUARD_FACTOR: variable(
    '`transfers complete` wants an amount confirmed that is more than this many times the requested one, or less than that fraction of it; 1 to 1000000',
    parse.integer(1, 1_000_000),
    { default: String(defaultCompletionGuardFactor) },
  ),
  WALLET_URL: variable(
    "A [wallet core](wallet-core.md) that keeps the customers' accounts: `https`, or `http` on this machine. The built-in wallet when absent",
    parse.optional(parse.secretsUrl),
  ),
  WALLET_TOKEN: variable(
    'The bearer token it is called with; needed with `WALLET_URL`',
    parse.bearerToken,
    token('WALLET_URL'),
  ),
  WALLET_TIMEOUT_MS: variable(
    'How long the wallet core may take to answer, 100 to 120000',
    parse.integer(100, 120_000),
    { default: '10000' },
  ),
  SMTP_URL: variable(
    "The mail server for the built-in wallet's e-mails: `smtp://` or `smtps://`, with user and password where it wants them. See [messages](messages.md)",
    parse.optional(parse.smtpUrl),
    { secret: true },
  ),
  MAIL_FROM: variable(
    'Their sender, such as `Payments <no-reply@pay.example.com>`; needed with `SMTP_URL`',
    parse.optional(parse.sender),
    { needed: { with: 'SMTP_URL', problem: parse.senderProblem } },
  ),
  SMS_URL: variable(
    "The gateway for the built-in wallet's SMS: `https`, or `http` on this machine. See [messages](messages.md)",
    parse.optional(parse.secretsUrl),
  ),
  SMS_TOKEN: variable('The bearer token it is called with; needed with `SMS_URL`', parse.bearerToken, token('SMS_URL')),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    "A collector that takes traces by OTLP/HTTP, such as `http://127.0.0.1:4318`; none are made when absent. [OpenTelemetry's other variables](../operating/monitoring.md#traces) hold as well",
    parse.optional(parse.collectorUrl),
  ),
  OTEL_SDK_DISABLED: variable(
    '`true`: no traces are made though a collector is named',
    parse.oneOf(['true', 'false']),
    {
      default: 'false',
    },
  ),
})

type Environment = { readonly [name: string]: string | undefined }
export type Configuration = ReturnType<typeof arranged>

/** The environment asks for something impossible; `problems` names all of it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  constructor(readonly problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** An empty variable counts as absent. @throws ConfigurationError with every problem at once */
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
  return arranged(Value.Decode(environmentSchema, texts))
}

/** Undefined where the variable names no file. Never quotes what the file holds. @throws Problem */
function secretOfFile(environment: Environment, name: string): string | undefined {
  const path = environment[`${name}_FILE`]?.trim()
  if (!path) return undefined
  if (environment[name]?.trim()) throw new parse.Problem(`and ${name}_FILE are both set: which of them is meant?`)
  let content: string
  try {
    content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new parse.Problem(`cannot be read from the file ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
  if (content === '') throw new parse.Problem(`cannot be read from the file ${path}: it is empty`)
  return content
}

/** @throws ConfigurationError where more than one place is named */
function masterKeyOf(values: StaticDecode<typeof environmentSchema>) {
  const { TRANSFERD_MASTER_KEY: keys, TRANSFERD_MASTER_KEY_DIRECTORY: directory } = values
  const { TRANSFERD_MASTER_KEY_COMMAND: command } = values
  const places = [
    keys && ({ from: 'environment', keys } as const),
    directory && ({ from: 'directory', directory } as const),
    command && ({ from: 'command', command } as const),
  ].filter((place) => place !== undefined && place !== '')
  if (places.length > 1)
    throw new ConfigurationError([
      'TRANSFERD_MASTER_KEY, TRANSFERD_MASTER_KEY_DIRECTORY and TRANSFERD_MASTER_KEY_COMMAND: only one of them may be set',
    ])
  return places[0] ?? ({ from: 'data directory' } as const)
}

function arranged(values: StaticDecode<typeof environmentSchema>) {
  const { EVENT_STORE_URL: eventStore, WALLET_URL, SMTP_URL, MAIL_FROM, SMS_URL } = values
  return {
    /** At least one. */
    roles: values.ROLES as ReadonlySet<Role>,
    host: values.HOST,
    /** 0: any free one. */
    port: values.PORT,
    /** Without a slash at the end; undefined: the address listened on. */
    publicUrl: values.PUBLIC_URL,
    eventStore,
    /** Absolute path of the directory that holds the master key and sandbox.json: that of the log where it has one. */
    dataDirectory: eventStore.engine === 'embedded' ? eventStore.directory : values.DATA_DIRECTORY,
    readModels: values.READ_MODEL_URL,
    audit: {
      directory:
        values.AUDIT_DIRECTORY ??
        join(eventStore.engine === 'embedded' ? eventStore.directory : values.DATA_DIRECTORY, 'audit'),
      copyTo: values.AUDIT_COPY_TO,
      witnesses: values.AUDIT_WITNESSES,
    },
    masterKey: masterKeyOf(values),
    /** Addresses and CIDR ranges whose X-Forwarded-For is believed. */
    trustedProxies: values.TRUSTED_PROXIES,
    maxConnections: values.MAX_CONNECTIONS,
    /** Of one peer that is no trusted proxy. */
    maxConnectionsPerAddress: values.MAX_CONNECTIONS_PER_ADDRESS,
    logLevel: values.LOG_LEVEL,
    currency: values.CURRENCY,
    paymentMethods: values.PAYMENT_METHODS,
    /** `auto`: a sandbox merchant is offered as long as there is no live one. */
    sandbox: values.SANDBOX,
    callbackTimeoutMs: values.CALLBACK_TIMEOUT_MS,
    /** How many times the requested amount, or which fraction, must be confirmed to complete a transfer with it. */
    completionGuardFactor: values.COMPLETION_GUARD_FACTOR,
    /** Requests and what they cause are traced. */
    traced: values.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined && values.OTEL_SDK_DISABLED === 'false',
    /** A wallet core's `url` is without a slash at the end. */
    wallet: WALLET_URL
      ? ({ engine: 'http', url: WALLET_URL, token: values.WALLET_TOKEN, timeoutMs: values.WALLET_TIMEOUT_MS } as const)
      : ({ engine: 'built-in' } as const),
    /** How customers of the built-in wallet are reached; undefined: not at all, or by the sandbox's outbox. */
    messages: {
      email: SMTP_URL && MAIL_FROM ? { url: SMTP_URL, from: MAIL_FROM } : undefined,
      sms: SMS_URL ? { url: SMS_URL, token: values.SMS_TOKEN } : undefined,
    },
  }
}
