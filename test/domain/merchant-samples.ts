import type { MerchantCommand } from '../../src/domain/merchant/merchant.js'
import type { MerchantEvent, MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'

export const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
export const registeredAt = '2026-03-01T09:00:00.000Z'

export const settings: MerchantSettings = {
  ...defaultSettings(false),
  name: 'Blue Shop',
  callbackUrl: 'https://shop.example/callbacks',
  allowIps: ['203.0.113.7', '10.0.0.0/8'],
  requireSignature: 'none',
}

const data = {
  merchantId,
  settings,
  apiKeySha256: 'a'.repeat(64),
  secretKey: 'v1.secret.1',
  webhookSecret: 'v1.webhook.1',
  at: registeredAt,
}
export const register: MerchantCommand = { type: 'Register', ...data }
export const registered: Extract<MerchantEvent, { type: 'MerchantRegistered' }> = {
  type: 'MerchantRegistered',
  data,
}
