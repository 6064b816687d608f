import type { SendMailOptions, SentMessageInfo, Transporter } from 'nodemailer'
import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { type Email, MessageNotSentError, type Sender } from '../messages.js'

export interface MailServer {
  /** An `smtp://` or `smtps://` URL without a query. */
  readonly url: string
  /** An address with or without a name, such as `Payments <no-reply@pay.example.com>`. */
  readonly from: string
}

const longestMs = 15_000
const maxMessages = 20
const submissionPorts = { 'smtp:': 587, 'smtps:': 465 } as const

/** Sends emails over SMTP, each on its own connection. TLS is required unless the server runs on this machine. */
export function createSmtp({ url, from }: MailServer, timeoutMs = longestMs): Pick<Sender, 'sendEmail'> {
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
  let transport: Promise<Transporter<SentMessageInfo>> | undefined
  // Loaded on the first email, because two threads would otherwise read half a megabyte at every start of the service.
  const connected = () => {
    transport ??= import('nodemailer').then(({ createTransport }) => createTransport(options))
    return transport
  }
  const limit = new KeyedLimit({ concurrency: maxMessages, maxWaiting: 0 }, (key) => {
    return new MessageNotSentError(`${maxMessages} ${key} are in progress`)
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
