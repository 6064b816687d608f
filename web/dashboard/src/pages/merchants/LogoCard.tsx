import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { FileField } from '../../components/FileField'
import { Form } from '../../components/Form'
import { Problem } from '../../components/Problem'
import { notify } from '../../components/Toasts'

/** Uploads or removes the logo immediately, apart from the settings, which are saved together. */
export function LogoCard({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const { merchantId, logoSha256, settings } = merchant
  const path = `/merchants/${merchantId}/logo`
  const refresh = [['merchant', merchantId], ['changes']]
  const upload = useAction({
    run: (data: FormData) => api.send<MerchantItem>('PUT', path, data.get('image') as File),
    refresh,
    onSuccess: () => notify(text('merchants.logoSaved')),
  })
  const remove = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('DELETE', path),
    refresh,
    onSuccess: () => notify(text('merchants.logoRemoved')),
  })
  return (
    <Card title={text('merchants.logo')}>
      {logoSha256 !== null && (
        <div className="spread">
          <img
            className="MerchantLogo"
            src={api.href(path, { v: logoSha256.slice(0, 8) })}
            alt={text('merchants.logoOf', { name: settings.name })}
          />
          <Button pending={remove.pending} onPress={() => remove.start()}>
            {text('merchants.logoRemove')}
          </Button>
        </div>
      )}
      <Problem error={remove.error} />
      <Form
        key={logoSha256}
        onSubmit={upload.start}
        error={upload.error}
        submit={text('merchants.logoUpload')}
        pending={upload.pending}
      >
        <FileField
          name="image"
          label={text('merchants.logoFile')}
          accept="image/png,image/jpeg,image/webp"
          description={text('merchants.logoHelp')}
          required
        />
      </Form>
    </Card>
  )
}
