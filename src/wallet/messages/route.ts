import { MessageNotSentError, type Messages } from '../messages.js'

export interface Routes {
  /** Undefined: not configured. */
  readonly email: Pick<Messages, 'sendEmail'> | undefined
  readonly sms: Pick<Messages, 'sendSms'> | undefined
  readonly outbox: Messages
  readonly isSandbox: () => boolean
}

/** Messages go where the configuration says; what it says nothing of goes to the outbox in the sandbox, and nowhere else. */
export function routeMessages({ email, sms, outbox, isSandbox }: Routes): Messages {
  const otherwise = (variable: string) => {
    if (isSandbox()) return outbox
    throw new MessageNotSentError(`${variable} is not set`)
  }
  return {
    sendEmail: async (message) => (email ?? otherwise('SMTP_URL')).sendEmail(message),
    sendSms: async (message) => (sms ?? otherwise('SMS_URL')).sendSms(message),
  }
}
