import type { MerchantItem } from '../../api/contract'
import { usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { Facts } from '../../components/Facts'

/** Shows the settings to users who cannot change them. */
export function SettingsFacts({ merchant: { settings } }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const methodName = usePaymentMethodName()
  const yesOrNo = (value: boolean) => text(value ? 'common.yes' : 'common.no')
  const list = (values: readonly string[]) => (values.length === 0 ? text('common.none') : values.join(', '))
  const limit = (minor: number | null) => (minor === null ? text('common.none') : <Amount minor={minor} />)
  return (
    <div className="MerchantSettings">
      <Card title={text('merchants.group.addresses')}>
        <Facts
          items={[
            { label: text('fields.name'), value: <bdi>{settings.name}</bdi> },
            { label: text('fields.callbackUrl'), value: <bdi>{settings.callbackUrl}</bdi> },
            { label: text('fields.allowIps'), value: list(settings.allowIps) },
            {
              label: text('fields.returnUrl'),
              value: <bdi>{settings.returnUrl ?? text('common.none')}</bdi>,
            },
            { label: text('fields.frameAncestors'), value: list(settings.frameAncestors) },
          ]}
        />
      </Card>
      <Card title={text('merchants.group.limits')}>
        <Facts
          items={[
            { label: text('fields.minAmountMinor'), value: limit(settings.minAmountMinor) },
            { label: text('fields.maxAmountMinor'), value: limit(settings.maxAmountMinor) },
            { label: text('fields.mismatchToleranceMinor'), value: limit(settings.mismatchToleranceMinor) },
            {
              label: text('fields.manualControlAboveMinor'),
              value: limit(settings.manualControlAboveMinor),
            },
            { label: text('fields.approvalAboveMinor'), value: limit(settings.approvalAboveMinor) },
            { label: text('fields.rateLimitPerSecond'), value: settings.rateLimitPerSecond },
            { label: text('fields.depositExpiryMinutes'), value: settings.depositExpiryMinutes },
          ]}
        />
      </Card>
      <Card title={text('merchants.group.options')}>
        <Facts
          items={[
            {
              label: text('fields.requireSignature'),
              value: text(`merchants.signature.${settings.requireSignature}`),
            },
            { label: text('fields.requireNativeHash'), value: yesOrNo(settings.requireNativeHash) },
            { label: text('fields.autoCancelMismatch'), value: yesOrNo(settings.autoCancelMismatch) },
            { label: text('fields.callbackOnCreate'), value: yesOrNo(settings.callbackOnCreate) },
            ...settings.paymentInstructions.map(({ paymentMethod, text: instructions }) => ({
              label: text('merchants.instructionsFor', { method: methodName(paymentMethod) }),
              value: <bdi className="MerchantSettings-text">{instructions}</bdi>,
            })),
          ]}
        />
      </Card>
    </div>
  )
}
