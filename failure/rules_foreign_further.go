package failure

// furtherRules are the commonest statements in further languages: Dutch, the
// Nordic ones, Polish, Czech and Turkish, and in more words those of East Asia.
var furtherRules = []rule{
	{id: "foreign.timeout", class: NetworkTimeout, weight: wStatus, phrases: `
		tijdslimiet (overschreden|verstreken)
		time out verstreken
		verbinding ...3 (verbroken|afgebroken|gesloten|verloren|gereset)
		(anslutningen|tilkoblingen|forbindelsen|yhteys) ...3 (bröts|avbröts|brutt|afbrudt|katkesi|katkaistiin|lukket|stängdes)
		(tidsgräns|tidsgräensen|tidsgrensen|tidsfristen|aikakatkaisu|tidsavbrott|tidsavbrudd)
		(połączenie|polaczenie) ...3 (przerwane|zerwane|zresetowane|utracone|zamknięte)
		(przekroczono|upłynął) ...2 (limit czasu|czas|czas oczekiwania)
		(časový limit|vypršel) (vypršel|časový limit|překročen)
		spojení ...3 (ukončeno|přerušeno|ztraceno|resetováno)
		zaman aşımı(na)?
		zaman aşımına
		bağlantı ...3 (kesildi|koptu|sıfırlandı|kapandı)
		(시간이|시간) 초과(되었습니다|했습니다|됨)?
		시간이 초과되었습니다
		시간이 초과했습니다
		시간 초과되었습니다
		연결이 (끊어졌습니다|재설정되었습니다|종료되었습니다)
		(時間切れ|接続が切れました|応答がありません|通信エラー)
		(网络异常|网络错误|连接失败|响应超时|请求超时|网络不可达)
		(quá thời gian|hết thời gian chờ)`},
	{id: "foreign.refused", class: TemporaryServiceError, weight: wStatus + 4, phrases: `
		verbinding (geweigerd|geweigerd door)
		(dienst|service|server) ...3 (niet beschikbaar|niet bereikbaar|overbelast|otillgänglig|utilgjengelig|utilgængelig|niedostępna|niedostępny|nedostupná|nedostupný|kullanılamıyor)
		(tijdelijk|tillfälligt|midlertidig|chwilowo|tymczasowo|dočasně|geçici olarak) ...2 (niet beschikbaar|otillgänglig|utilgjengelig|utilgængelig|niedostępna|niedostępny|nedostupná|nedostupný|kullanılamıyor)
		(interne serverfout|intern serverfejl|wewnętrzny błąd serwera|vnitřní chyba serveru|sunucu hatası)
		(anslutningen|tilkoblingen|forbindelsen) ...2 (nekades|avvist|afvist)
		(połączenie|polaczenie) ...2 odrzucone
		spojení ...2 odmítnuto
		bağlantı reddedildi
		(서비스를|서비스) ...2 (사용할 수 없습니다|이용할 수 없습니다|점검 중입니다)
		연결이 거부되었습니다
		서버 오류
		(しばらくして|時間をおいて|後でもう一度|メンテナンス中|混雑して)
		(稍后重试|请稍后再试|稍后再试|服务异常|系统异常|系统维护|正在维护|系统错误)
		dịch vụ ...2 (không khả dụng|tạm ngừng)`},
	{id: "foreign.rate", class: RateLimitExceeded, weight: wStrong, phrases: `
		te veel (verzoeken|aanvragen|verbindingen|pogingen)
		(för|for) (många|mange) (förfrågningar|forespørsler|forsøk|försök|anrop|forespørgsler)
		(zbyt|za) (wiele|dużo) (żądań|zapytań|prób|połączeń)
		příliš mnoho (požadavků|pokusů|připojení)
		çok fazla (istek|deneme|bağlantı)
		(요청이|요청) 너무 많습니다
		(频率超限|超过频率|调用频率|请求频率)`},
	{id: "foreign.quota", class: QuotaExceeded, weight: wStrong + 4, phrases: `
		(quotum|limiet|daglimiet|dagslimiet) ...2 (bereikt|overschreden|opgebruikt)
		(kvoten|kvote) ...2 (överskriden|slut|overskredet|oppbrukt|opbrugt)
		(limit|dzienny limit) ...2 (wyczerpany|przekroczony)
		kota ...2 (aşıldı|doldu)
		(할당량|한도)(을|를|이|가)? ...1 (초과했습니다|초과되었습니다)
		(今日|今天|本日|本月|当日|每日|每月) ...8 (上限|用完|用尽|已满)
		(次数|用量|流量)已(达上限|用完|用尽)
		(利用上限|月間上限|上限に達し)`},
	{id: "foreign.auth", class: AuthenticationFailure, weight: wStrong + 4, phrases: `
		(ungültiges|falsches|ungültiger|falscher|abgelaufenes|abgelaufener|ungültige|falsche) (passwort|kennwort|token|schlüssel|zugangstoken|signatur|api schlüssel|anmeldedaten|sitzung)
		(ongeldig|onjuist|verkeerd|verlopen) (wachtwoord|token|sleutel)
		(wachtwoord|token|aanmelding) ...2 (ongeldig|onjuist|verlopen|mislukt)
		(felaktigt|ogiltigt|feil|ugyldig|forkert) (lösenord|passord|adgangskode|token)
		(nieprawidłowe|błędne|nieprawidłowy) (hasło|token|klucz)
		(neplatné|chybné|nesprávné) (heslo|přihlášení)
		(geçersiz|yanlış|hatalı) (parola|şifre|anahtar)
		(签名错误|签名无效|签名不匹配|密钥错误|密钥无效|登录失效|登录过期)
		(비밀번호가|인증에|인증이|토큰이) (올바르지|실패했습니다|만료되었습니다|유효하지)`},
	{id: "foreign.rights", class: PermissionError, weight: wStrong, phrases: `
		toegang (geweigerd|verboden)
		geen (rechten|toegang|toestemming|bevoegdheid)
		(åtkomst|tillgang|adgang) (nekad|nekas|nektet|nægtet|förbjuden)
		(saknar|mangler) (behörighet|tillatelse|rettigheter|tilladelse)
		käyttö (estetty|evätty)
		(brak|niewystarczające) (uprawnień|dostępu|uprawnienia)
		odmowa dostępu
		(přístup|pristup) (odepřen|zamítnut)
		(nemáte|chybí) ...1 oprávnění
		(erişim|izin) (engellendi|reddedildi|verilmedi|yok)
		yetkiniz yok
		권한이 없습니다
		(접근이|액세스가|접근) 거부되었습니다
		(没有访问权限|无访问权限|未开通|无操作权限)
		không có quyền`},
	{id: "foreign.notfound", class: NotFound, weight: wSaid + 2, phrases: `
		niet gevonden
		bestaat niet
		(hittades|finns|funnet|fundet|finnes|findes) (inte|ikke)
		ikke (funnet|fundet)
		ei (löydy|löytynyt)
		(nie|nie został) (znaleziono|znaleziony|znaleziona|istnieje|odnaleziono)
		(nebyl|nebyla|nebylo) nalezen
		(nebyl nalezen|nebyla nalezena|nebylo nalezeno|nenalezen|nenalezeno|neexistuje)
		bulunamadı
		찾을 수 없습니다
		존재하지 않습니다
		không (tìm thấy|tồn tại)`},
	{id: "foreign.resource", class: ResourceConstraint, weight: wCode + 2, phrases: `
		(speicherplatz|arbeitsspeicher|festplatte) ...2 (erschöpft|voll|belegt)
		(onvoldoende|niet genoeg|te weinig|geen) (geheugen|ruimte|schijfruimte)
		(otillräckligt|slut på|ikke nok|utilstrekkelig|ikke tilstrækkelig) (minne|utrymme|diskutrymme|minne|plass|hukommelse|plads)
		(brak|za mało|niewystarczająca) ...1 (pamięci|miejsca|pamięć)
		(nedostatek|málo) (paměti|místa)
		(yeterli|yetersiz) (bellek|alan|disk)
		(메모리가|공간이|용량이) 부족합니다
		không đủ (bộ nhớ|dung lượng)`},
	{id: "foreign.limit", class: InputExceedsLimits, weight: wStrong, phrases: `
		(te groot|te lang|overschrijdt de maximale)
		(för|for) (stor|stort|lang|lång|langt)
		(zbyt|za) (duży|duża|długi|duże|długie)
		příliš (velký|dlouhý|velká|velké)
		çok (büyük|uzun)
		너무 (큽니다|깁니다)
		(超过限制|超出限制|超过上限|超出上限|大小限制|长度限制)
		大小 ...4 (超过|超出)`},
	{id: "foreign.validation", class: ValidationError, weight: wStatus - 4, phrases: `
		(verplicht veld|is verplicht|mag niet leer|moet (een|groter|kleiner|positief))
		(obligatoriskt|måste anges|får inte vara|obligatorisk|må fylles)
		(pole wymagane|jest wymagane|nie może być puste|musi być)
		(povinné pole|musí být|nesmí být)
		(zorunlu alan|boş olamaz|olmalıdır|zorunludur)
		(필수|입력해야) ...2 (항목입니다|입력|합니다)`},
	{id: "foreign.business", class: BusinessLogicError, weight: wStatus, phrases: `
		(wurde|ist|sind|wurden) (bereits|schon) (storniert|bezahlt|versendet|vergeben|gebucht|abgeschlossen|vorhanden|gelöscht|verwendet|registriert|freigegeben|beendet)
		bereits (storniert|bezahlt|versendet|vergeben|gebucht|abgeschlossen|vorhanden|verwendet|registriert)
		(a|est|été|ont) déjà (été)? (annulé|annulée|payé|payée|utilisé|utilisée|expédié|expédiée|réservé|pris|traité)
		déjà (annulé|annulée|payé|payée|utilisé|utilisée|expédié|réservé|pris|existe|traité)
		ya (ha sido|está|existe|fue|se ha) (cancelado|cancelada|pagado|pagada|usado|usada|enviado|enviada|reservado|registrado|registrada)?
		já (foi|existe|está) (cancelado|cancelada|pago|paga|usado|usada|enviado|enviada|reservado|registrado)?
		già (stato|stata|esistente|pagato|annullato|prenotato|utilizzato)
		уже (существует|оплачен|оплачена|отмен(е|ё)н|использован|зарегистрирован|занят)
		(reeds|al) (geannuleerd|betaald|gebruikt|verzonden|geboekt|geregistreerd)
		(已存在|已取消|已支付|已关闭|已售罄|库存不足|已过期|不可重复|重复提交|已被使用|已注册)
		(在庫切れ|在庫不足|既に存在|すでに存在|キャンセル済み|支払い済み)
		이미 (존재합니다|취소되었습니다|사용되었습니다|결제되었습니다)`},
	{id: "foreign.money", class: PaymentRequired, weight: wStrong + 8, phrases: `
		(guthaben|kontostand|deckung) ...3 (nicht ausreichend|reicht nicht|aufgebraucht|unzureichend|erschöpft|zu niedrig)
		(nicht genügend|kein|zu wenig|nicht genug|unzureichendes) (guthaben|deckung|geld)
		(zahlung|karte|rechnung) ...3 (abgelehnt|fehlgeschlagen|überfällig|erforderlich|offen)
		(solde|crédit|crédits) ...2 (insuffisant|insuffisants|épuisé|épuisés)
		(paiement|carte) ...2 (refusé|refusée|requis|échoué)
		(saldo|fondos|fundos|crédito|créditos) ...2 (insuficiente|insuficientes|agotado|agotados|esgotado|insufficiente)
		(pago|tarjeta|pagamento|cartão|carta) ...2 (rechazado|rechazada|recusado|recusada|requerido|rifiutato|rifiutata)
		недостаточно (средств|денег)
		(余额不足|账户欠费|欠费|支付失败|未付款|付款失败)
		(残高不足|残高が不足|支払いが必要|支払いに失敗)
		잔액이 부족합니다
		(saldo onvoldoende|onvoldoende saldo|betaling geweigerd|betaling mislukt)`},
}
