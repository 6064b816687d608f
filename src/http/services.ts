import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { EvidencePackages } from '../audit/evidence/evidence-packages.js'
import type { ExportSealing } from '../audit/proofs/export-signature.js'
import type { ProofOutcome } from '../audit/proofs/transfer-proof.js'
import type { createTestEventSender } from '../callbacks/deliver/test-event.js'
import type { BankCommands } from '../commands/bank/bank-commands.js'
import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { CallbackNetworks, ResolveHost } from '../commands/merchant/callback-networks.js'
import type { MerchantCommands, SecretKeyUse } from '../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { SignIn } from '../commands/user/login-guard.js'
import type { UserCommands, UserDirectory } from '../commands/user/user-commands.js'
import type { Currency } from '../domain/money.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import type { Transfer } from '../domain/transfer/transfer.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import type { EventStore } from '../event-store/event-store.js'
import type { Check } from '../kernel/check.js'
import type { Clock } from '../kernel/time.js'
import type { PrivacyParts } from '../privacy/customer-erasure.js'
import type { projectionLags } from '../projections/projection-status.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { Readers } from '../readers/readers.js'
import type { SecretBox } from '../security/secret-box.js'
import type { SecurityLog } from '../security/security-log.js'
import type { OutboxMessage } from '../wallet/messages.js'
import type { WalletPayments } from '../wallet/payments/wallet-payments.js'

/** Problems of one kind as sentences for the operator. */
interface DetailSource {
  /** The kind, as the subject of a sentence. */
  readonly what: string
  readonly read: () => Promise<readonly string[]>
}

/** The services and settings that routes use. The directories have already started. */
export interface HttpServices {
  readonly eventStore: EventStore
  readonly readModels: ReadModels
  /** Runs every read that can look at more than a few rows. */
  readonly readers: Readers
  readonly secretBox: SecretBox
  readonly clock: Clock
  /** The clock for rates. */
  readonly monotonicMs: () => number
  readonly logger: Logger
  readonly securityLog: SecurityLog
  /** The registry behind /metrics, to which http adds its own metrics. Each app has a separate one. */
  readonly metrics: Registry
  readonly directory: MerchantDirectory
  readonly userDirectory: UserDirectory
  readonly merchants: MerchantCommands
  readonly users: UserCommands
  readonly transfers: TransferCommands
  readonly bank: BankCommands
  readonly callbacks: CallbackCommands
  readonly walletPayments: WalletPayments
  /** Plays the scenario of a transfer of a sandbox merchant, if it has one. */
  readonly scenarios: { play(transfer: Transfer): void }
  readonly secretKeyUse: Pick<SecretKeyUse, 'matters' | 'seen'>
  readonly signIn: SignIn
  /** The addresses that callbacks may go to. */
  readonly networks: CallbackNetworks
  readonly resolveHost: ResolveHost
  readonly testEndpoint: ReturnType<typeof createTestEventSender>
  readonly privacy: PrivacyParts
  readonly projectionLags: () => ReturnType<typeof projectionLags>
  /** Returns the events because of which merchants and users are unavailable. */
  readonly unreadableEvents: () => readonly UnreadableEventError[]
  readonly proofOf: (trackingId: string) => Promise<ProofOutcome>
  readonly evidence: EvidencePackages
  readonly exportSealing: ExportSealing
  /** Returns the messages, newest first, or `undefined` outside sandbox mode or with a wrong token. */
  readonly outbox: (token: string) => Promise<readonly OutboxMessage[] | undefined>
  /** Returns whether there is no live merchant. */
  readonly inSandbox: () => boolean
  /** The human-readable reasons why the rest of the process is not ready; empty if it is. */
  readonly readiness: () => Promise<readonly string[]>
  /** The problems that need attention but do not prevent the service from serving requests, the most urgent source first. */
  readonly details: readonly DetailSource[]
  /** Runs the checks of `transferd doctor` that a process can perform on itself. */
  readonly checks: () => Promise<readonly Check[]>
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  /** The URL that merchants and customers use, without a trailing slash. It can contain a path. */
  readonly publicUrl: string
  /** The name that distinguishes this installation from others in authenticators, page titles, emails and bank files. */
  readonly installationName: string
  readonly connections: {
    /** The longest time from the first byte of a request to its last, headers and body. */
    readonly requestTimeoutMs: number
    readonly maxConnections: number
    /** The most connections of one peer that is not a trusted proxy. */
    readonly maxConnectionsPerAddress: number
  }
  /** The CIDR ranges of the proxies whose X-Forwarded-For is trusted; none if empty. */
  readonly trustedProxies: readonly string[]
  /** Whether a tracer is installed in this thread. */
  readonly traced: boolean
  /** `false` serves only health and metrics. */
  readonly merchantsServed: boolean
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly services: HttpServices
  }
}
