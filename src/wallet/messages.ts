/** The messages port: how the built-in wallet reaches a customer. Codes and links are in messages and nowhere else. */

export interface Sms {
  /** E.164. */
  readonly to: string
  readonly text: string
  /** The code that the text holds. */
  readonly code: string
}

export interface Email {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The link that both texts hold. */
  readonly link: string
}

/** Both methods may throw {@link MessageNotSentError}. */
export interface Sender {
  sendSms(sms: Sms): Promise<void>
  sendEmail(email: Email): Promise<void>
}

export interface Messages extends Sender {
  /** Why one or the other cannot be sent as things are set up; undefined when nothing is missing. */
  whyUnprepared(): string | undefined
}

/** It was not sent, as far as is known; the message holds neither recipient nor code nor link. */
export class MessageNotSentError extends Error {
  override readonly name = 'MessageNotSentError'
}

/** A message of the sandbox. */
export interface OutboxMessage {
  readonly kind: 'sms' | 'email'
  readonly to: string
  readonly code: string | null
  readonly link: string | null
  /** ISO 8601. */
  readonly at: string
}
