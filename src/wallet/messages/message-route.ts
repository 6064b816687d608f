import { MessageNotSentError, type Messages, type Sender } from '../messages.js'

export interface Routes {
  /** `undefined` if it is not configured. */
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
    whyUnprepared: () => (isSandbox() || missing.length === 0 ? undefined : missing.join('; ')),
    sendEmail: async (message) => (email ?? otherwise('SMTP_URL')).sendEmail(message),
    sendSms: async (message) => (sms ?? otherwise('SMS_URL')).sendSms(message),
  }
}
