import type { SendMailOptions, SentMessageInfo, Transporter } from 'nodemailer'
import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { type Email, MessageNotSentError, type Sender } from '../messages.js'

export interface MailServer {
  /** `smtp://` or `smtps://`, without query. */
  readonly url: string
  /** `Payments <no-reply@pay.example.com>`, or the address alone. */
  readonly from: string
}

const longestMs = 15_000
const maxMessages = 20
const submissionPorts = { 'smtp:': 587, 'smtps:': 465 } as const

/** E-mail over SMTP, one connection for each. Without TLS nothing is sent, but to a server on this machine. */
export function createSmtp({ url, from }: MailServer, timeoutMs = longestMs): Pick<Sender, 'sendEmail'> {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isThisMachine = /^(localhost|127(\.\d+){3}|::1)$/.test(host)
  const options = {
    host,
    port: Number(port) || submissionPorts[protocol as keyof typeof submissionPorts],
    secure: protocol === 'smtps:',
    requireTLS: !isThisMachine,
    // A relay on this machine offers STARTTLS with a certificate that it made itself, which would be refused.
    ignoreTLS: isThisMachine,
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  let transport: Promise<Transporter<SentMessageInfo>> | undefined
  // Loaded by the first e-mail: half a megabyte that two threads of every service would read at their start.
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
        // For all of it: each of the timeouts above begins anew with every byte.
        const limits = { signal: AbortSignal.timeout(timeoutMs) }
        const headers = { 'auto-submitted': 'auto-generated' }
        const mail: SendMailOptions = { from, to: { name: '', address: to }, subject, text, html, headers, ...limits }
        try {
          await (await connected()).sendMail(mail)
        } catch (error) {
          throw new MessageNotSentError(`the e-mail was not sent: ${reasonOf(error)}`)
        }
      }),
  }
}

/** What the server said may repeat the message; the code of the error and of the answer do not. */
function reasonOf(error: unknown): string {
  const { code, name, responseCode } = error as { code?: unknown; name?: unknown; responseCode?: unknown }
  const what = typeof code === 'string' ? code : String(name)
  return typeof responseCode === 'number' ? `${what} ${responseCode}` : what
}
