import type { MerchantItem } from '../../api/contract'
import { usePaymentMethodName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Card } from '../../components/Card'
import { Facts } from '../../components/Facts'

/** For those who may read settings and not change them. */
export function SettingsFacts({ merchant: { settings } }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const methodName = usePaymentMethodName()
  const yesOrNo = (value: boolean) => text(value ? 'common.yes' : 'common.no')
  const list = (values: readonly string[]) => (values.length === 0 ? text('common.none') : values.join(', '))
  const limit = (minor: number | null) => (minor === null ? text('common.none') : <Amount minor={minor} />)
  return (
    <div className="MerchantSettings">
      <Card title={text('merchants.group.who')}>
        <Facts
          items={[
            { label: text('merchants.setting.name'), value: <bdi>{settings.name}</bdi> },
            { label: text('merchants.setting.callbackUrl'), value: <bdi>{settings.callbackUrl}</bdi> },
            { label: text('merchants.setting.allowIps'), value: list(settings.allowIps) },
            {
              label: text('merchants.setting.returnUrl'),
              value: <bdi>{settings.returnUrl ?? text('common.none')}</bdi>,
            },
            { label: text('merchants.setting.frameAncestors'), value: list(settings.frameAncestors) },
          ]}
        />
      </Card>
      <Card title={text('merchants.group.limits')}>
        <Facts
          items={[
            { label: text('merchants.setting.minAmountMinor'), value: limit(settings.minAmountMinor) },
            { label: text('merchants.setting.maxAmountMinor'), value: limit(settings.maxAmountMinor) },
            { label: text('merchants.setting.mismatchToleranceMinor'), value: limit(settings.mismatchToleranceMinor) },
            {
              label: text('merchants.setting.manualControlAboveMinor'),
              value: limit(settings.manualControlAboveMinor),
            },
            { label: text('merchants.setting.approvalAboveMinor'), value: limit(settings.approvalAboveMinor) },
            { label: text('merchants.setting.rateLimitPerSecond'), value: settings.rateLimitPerSecond },
            { label: text('merchants.setting.depositExpiryMinutes'), value: settings.depositExpiryMinutes },
          ]}
        />
      </Card>
      <Card title={text('merchants.group.options')}>
        <Facts
          items={[
            {
              label: text('merchants.setting.requireSignature'),
              value: text(`merchants.signature.${settings.requireSignature}`),
            },
            { label: text('merchants.setting.requireNativeHash'), value: yesOrNo(settings.requireNativeHash) },
            { label: text('merchants.setting.autoCancelMismatch'), value: yesOrNo(settings.autoCancelMismatch) },
            { label: text('merchants.setting.callbackOnCreate'), value: yesOrNo(settings.callbackOnCreate) },
            ...settings.paymentInstructions.map(({ paymentMethod, text: words }) => ({
              label: text('merchants.instructionsFor', { method: methodName(paymentMethod) }),
              value: <bdi className="MerchantSettings-words">{words}</bdi>,
            })),
          ]}
        />
      </Card>
    </div>
  )
}
