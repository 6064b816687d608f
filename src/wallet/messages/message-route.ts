import { MessageNotSentError, type Messages, type Sender } from '../messages.js'

export interface Routes {
  /** Undefined: not configured. */
  readonly email: Pick<Sender, 'sendEmail'> | undefined
  readonly sms: Pick<Sender, 'sendSms'> | undefined
  readonly outbox: Sender
  readonly isSandbox: () => boolean
}

/** What customers cannot be sent, and the setting that is missing, in words; empty when nothing is. */
export function missingGateways({ email, sms }: { readonly email: unknown; readonly sms: unknown }): readonly string[] {
  return [
    ...(sms === undefined ? ['no customer can be sent a code by SMS: SMS_URL is not set'] : []),
    ...(email === undefined ? ['no customer can be sent an e-mail: SMTP_URL is not set'] : []),
  ]
}

/** Messages go where the configuration says; what it says nothing of goes to the outbox in the sandbox, and nowhere else. */
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
