import type { SendMailOptions, SentMessageInfo, Transporter } from 'nodemailer'
import { KeyedLimit } from '../../kernel/concurrency.js'
import { loadOnce } from '../../kernel/load-once.js'
import { ExchangeFailedError, type ExchangeRequest, exchange } from '../exchange.js'
import { type Email, MessageNotSentError, type Messages, type Sender, type Sms } from '../messages.js'

interface Routes {
  readonly email: Pick<Sender, 'sendEmail'> | undefined
  readonly sms: Pick<Sender, 'sendSms'> | undefined
  readonly outbox: Sender
  readonly isSandbox: () => boolean
}

/** Returns a sentence for each kind of message that cannot be sent, with the missing setting. */
export function missingGateways({ email, sms }: { readonly email: unknown; readonly sms: unknown }): readonly string[] {
  return [
    ...(sms === undefined ? ['codes cannot be sent by SMS: SMS_URL is not set'] : []),
    ...(email === undefined ? ['emails cannot be sent: SMTP_URL is not set'] : []),
  ]
}

/** Sends messages through the configured gateways. Without a gateway, the sandbox uses the outbox, and live operation fails. */
export function routeMessages({ email, sms, outbox, isSandbox }: Routes): Messages {
  const missing = missingGateways({ email, sms })
  const otherwise = (variable: string) => {
    if (isSandbox()) return outbox
    throw new MessageNotSentError(`${variable} is not set`)
  }
  return {
    unpreparedReason: () => (isSandbox() || missing.length === 0 ? undefined : missing.join('; ')),
    sendEmail: async (message) => (email ?? otherwise('SMTP_URL')).sendEmail(message),
    sendSms: async (message) => (sms ?? otherwise('SMS_URL')).sendSms(message),
  }
}

const smsTimeoutMs = 10_000
const maxMessages = 20

const tooMany = (kind: string) => new MessageNotSentError(`${maxMessages} ${kind} are in progress`)
/** Limits the messages of each kind that are being sent. None waits. */
const limit = new KeyedLimit({ concurrency: maxMessages, maxWaiting: 0 }, tooMany)

/** Sends each SMS as a POST of `{to, text}`; any 2xx status means that the gateway accepted it (docs/reference/messages.md). */
export function createSmsGateway({ url, token }: Pick<ExchangeRequest, 'url' | 'token'>): Pick<Sender, 'sendSms'> {
  return {
    sendSms: ({ to, text }: Sms) =>
      limit.run('SMS', async () => {
        try {
          const { status } = await exchange({ method: 'POST', url, token, body: { to, text }, timeoutMs: smsTimeoutMs })
          if (status < 200 || status > 299)
            throw new MessageNotSentError(`the SMS gateway responded with status ${status}`)
        } catch (error) {
          if (!(error instanceof ExchangeFailedError)) throw error
          throw new MessageNotSentError(`the SMS gateway did not respond: ${error.message}`)
        }
      }),
  }
}

interface MailServer {
  /** An `smtp://` or `smtps://` URL without a query. */
  readonly url: string
  /** An address with or without a name, such as `Payments <no-reply@pay.example.com>`. */
  readonly from: string
}

const smtpTimeoutMs = 15_000
const submissionPorts = { 'smtp:': 587, 'smtps:': 465 } as const

/** Sends emails over SMTP, each on its own connection. TLS is required unless the server runs on this machine. */
export function createSmtp({ url, from }: MailServer, timeoutMs = smtpTimeoutMs): Pick<Sender, 'sendEmail'> {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isThisMachine = /^(localhost|127(\.\d+){3}|::1)$/.test(host)
  const options = {
    host,
    port: Number(port) || submissionPorts[protocol as keyof typeof submissionPorts],
    secure: protocol === 'smtps:',
    requireTLS: !isThisMachine,
    // A relay on this machine usually offers STARTTLS with a self-signed certificate, which would be rejected.
    ignoreTLS: isThisMachine,
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  // Loaded on the first email, because two threads would otherwise read half a megabyte at every start of the service.
  const connected = loadOnce(async (): Promise<Transporter<SentMessageInfo>> => {
    const { createTransport } = await import('nodemailer')
    return createTransport(options)
  })
  return {
    sendEmail: ({ to, subject, text, html }: Email) =>
      limit.run('emails', async () => {
        // Limits the whole exchange, because each of the timeouts above restarts with every byte.
        const limits = { signal: AbortSignal.timeout(timeoutMs) }
        const headers = { 'auto-submitted': 'auto-generated' }
        const mail: SendMailOptions = { from, to: { name: '', address: to }, subject, text, html, headers, ...limits }
        try {
          await (await connected()).sendMail(mail)
        } catch (error) {
          throw new MessageNotSentError(`the email could not be sent: ${reasonOf(error)}`)
        }
      }),
  }
}

/** Returns the error and response codes only, because the server's text can quote the email. */
function reasonOf(error: unknown): string {
  const { code, name, responseCode } = error as { code?: unknown; name?: unknown; responseCode?: unknown }
  const what = typeof code === 'string' ? code : String(name)
  return typeof responseCode === 'number' ? `${what} ${responseCode}` : what
}
