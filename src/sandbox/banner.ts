import { randomUUID } from 'node:crypto'
import type { Currency } from '../domain/money.js'
import type { Role } from '../operations/configuration/configuration.js'
import { hashCode } from '../security/api-keys.js'
import type { SandboxCredentials } from './sandbox.js'

export interface Started {
  readonly baseUrl: string
  readonly roles: readonly Role[]
  readonly currency: Currency
  /** Absolute path of the log's directory. */
  readonly directory: string
  /** Undefined outside sandbox mode. */
  readonly sandbox: SandboxCredentials | undefined
  readonly notices: readonly string[]
}

/** Returns the text that `transferd serve` prints on a terminal when it is ready. Credentials are shown nowhere else. */
export function banner({ baseUrl, roles, currency, directory, sandbox, notices }: Started): string {
  const lines = [
    'transferd is running.',
    '',
    `  Base URL       ${baseUrl}`,
    roles.includes('api')
      ? `  Documentation  ${baseUrl}/documentation\n  Dashboard      ${baseUrl}/dashboard`
      : `  Roles          ${roles.join(', ')}: only ${baseUrl}/health/ready and ${baseUrl}/metrics`,
    `  Data           ${directory}`,
    `  Currency       ${currency.code}`,
    ...notices.map((notice) => `  Note           ${notice}`),
  ]
  if (sandbox) {
    lines.push(
      '',
      'Sandbox mode: no live merchant exists. Use this test merchant, which accepts calls from this machine only:',
      '',
      `  Merchant       ${sandbox.merchantId}`,
      `  WebApiKey      ${sandbox.webApiKey}`,
      `  SecretKey      ${sandbox.secretKey}`,
      `  WebhookSecret  ${sandbox.webhookSecret}`,
      ...customer(baseUrl, sandbox, currency),
      ...dashboardUsers(baseUrl, sandbox),
      '',
      'Play a deposit to its end, and see its callback. In a second terminal, in this directory:',
      '',
      '  npx transferd listen &',
      '  npx transferd trigger completed',
      '',
      'Create a deposit:',
      '',
      sampleCurl(baseUrl, sandbox),
    )
  }
  return `${lines.join('\n')}\n`
}

function customer(baseUrl: string, { wallet, outboxToken }: SandboxCredentials, currency: Currency): string[] {
  if (!wallet) return []
  const balance = wallet.balance.toLocaleString('en', { minimumFractionDigits: currency.decimals })
  return [
    '',
    'Customer with a wallet, whose messages go only to the outbox:',
    '',
    `  Email          ${wallet.email}`,
    `  Password       ${wallet.password}`,
    `  Account        ${wallet.accountNumber}, balance ${balance} ${currency.code}`,
    `  Outbox         ${baseUrl}/sandbox/outbox?token=${outboxToken}`,
  ]
}

function dashboardUsers(baseUrl: string, { users }: SandboxCredentials): string[] {
  if (users.length === 0) return []
  const widest = Math.max(...users.map(({ email }) => email.length))
  const lines = users.map(({ email, password }) => `  ${email.padEnd(widest)}  ${password}`)
  return ['', `Dashboard users, one for each role, at ${baseUrl}/dashboard:`, '', ...lines]
}

/** Returns a shell command that creates a hosted deposit. Repeating it returns the first response. */
export function sampleCurl(baseUrl: string, { webApiKey, secretKey }: SandboxCredentials): string {
  const referenceId = randomUUID()
  const amount = '100.00'
  const fields = [
    `"amount":${amount}`,
    '"userId":"42","name":"Ada Lovelace","username":"ada"',
    `"referenceId":"${referenceId}"`,
    '"transactionType":1,"paymentMethod":1,"metadata":{"order":"4711"}',
    `"hashCode":"${hashCode(secretKey, amount, referenceId)}"`,
  ]
  const headers = `-H 'Content-Type: application/json-patch+json' -H 'WebApiKey: ${webApiKey}'`
  return `curl -sS ${baseUrl}/Transaction/CreateDeposit ${headers} -d '{${fields.join(',')}}'`
}
